"""Families of methods by what they release; a method that is in none of them is among the others."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "Private steps of a network (DP-SGD)": (
        "dp-sgd-dm", "dpdm", "dp-diffusion", "dp-ldm", "dp-lora", "dp-feta", "privimage", "psg", "p3gm", "chu-dpdm", "private-classifier",
        "p3dm", "dp-sad",
    ),
    "Adversaries and teachers": ("dp-gan", "dp-cgan", "dp-sinkhorn", "gs-wgan", "pate-gan", "g-pate", "datalens"),
    "Noised records or answers": ("dp-promise", "dpgen", "ddm"),
    "Votes for public images": ("private-evolution", "votes-and-clusters", "public-choice", "selective-pretraining"),
    "Moments and mean features": (
        "class-means", "class-moments", "prior-moments", "cluster-moments", "dp-merf", "dp-mepf", "pearl", "dp-hp", "dp-kernel", "dp-ntk",
    ),
    "Tables": ("independent-marginals", "mst", "aim", "tab-pe"),
    "Without privacy": ("nonprivate",),
}  # fmt: skip
OTHERS = "Others"
