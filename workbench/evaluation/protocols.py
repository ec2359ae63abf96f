"""Protocols: how many samples are judged, what learns from them, and which records they are held against."""

from dataclasses import dataclass

OWN, PUBLISHED, BENCHMARK = "workbench", "published", "dpimagebench"


@dataclass(frozen=True)
class Protocol:
    """An entry of PROTOCOLS; `num_samples` None is as many as there are."""

    title: str
    num_samples: int | None
    description: str

    def label(self, num_samples: int) -> str:
        """What stands beside a value, which says so where it is of other than the protocol's number of samples."""
        if self.num_samples in (None, num_samples):
            return self.title
        return (
            f"{self.title}, cut down to {num_samples:,} samples"
            if num_samples < self.num_samples
            else f"{self.title}, {num_samples:,} samples"
        )


PROTOCOLS = {
    OWN: Protocol(
        "workbench's protocol", None, "Learners of a fixed number of steps, of which no epoch is chosen; distances to held-out records."
    ),
    PUBLISHED: Protocol(
        "published protocol",
        60_000,
        "dp-promise 2024, section 6.2: 60 000 samples, a sixth of them to choose the epoch by; distances to training records.",
    ),
    BENCHMARK: Protocol(
        "DPImageBench's protocol with small networks",
        60_000,
        "Gong et al. 2025: 60 000 samples, the mean of three residual networks; theirs are larger, and choose an epoch on private records.",
    ),
}
