"""Claims: for every paper its own formula as a pure function, one stated setting, and what is proved there."""

from workbench.privacy.claims import table
from workbench.privacy.claims.formulas import (
    chu_dpdm,
    ddm_theorem_1,
    dp_mepf,
    dp_merf,
    dp_promise,
    dp_promise_mu_1,
    dp_promise_phase_one,
    dp_sad,
    dp_sgd,
    keep_probability,
    phase_1_distance,
    randomized_response,
)
from workbench.privacy.claims.settings import (
    DATA_DEPENDENT,
    PAPER_TARGETS,
    PRIVATE_THRESHOLD,
    RANDOMISED_INDEX,
    RANDOMISED_INDEX_AND_PAC,
    TEACHER,
    TwoPhases,
    gaussian_stage,
)
from workbench.privacy.claims.table import Claim, ClaimRow, claims_markdown, claims_table

CLAIMS: dict[str, Claim] = {
    "dp-promise": table.two_phase_claim("dp-promise with the paper's regression targets", table.MNIST.paper_stages, PAPER_TARGETS),
    "dp-promise-renoised": table.two_phase_claim(
        "dp-promise with renoised targets",
        table.MNIST.renoised_stages,
        "Phase I sees only records noised up to the boundary, afresh for each batch, and everything after is post-processing. "
        "One record made null is a pair for both phases, so their privacy loss distributions compose.",
    ),
    "dp-promise-one-shot": table.two_phase_claim(
        "dp-promise with one noised copy of every record",
        table.MNIST.one_shot_stages,
        "Every record is noised once, which is an exact Gaussian mechanism, and phase I may train on the copies as long as wanted. "
        "The claim is the formula of the published two phases, shown for comparison.",
    ),
    "dpdm": table.dp_sgd_claim(
        "DPDM", table.DPDM_SOURCE, 2.487, 1 / 15, 4500, "MNIST: q=1/15 (batch 4096), 4500 steps (300 epochs), noise multiplier 2.487"
    ),
    "dp-sgd-dm": table.dp_sgd_claim(
        "DP-SGD diffusion model after public pre-training",
        "Wang et al. 2024 (dp-promise), baseline",
        1.13,
        1 / 15,
        750,
        "MNIST: q=1/15, 750 steps, noise multiplier 1.13",
    ),
    "dp-diffusion": table.dp_sgd_claim(
        "DP-Diffusion: DP-SGD fine-tuning with augmentation multiplicity and a timestep mixture",
        "Ghalebikesabi et al. 2023",
        2.487,
        1 / 15,
        4500,
        "a setting of ours: q=1/15, 4500 steps, noise multiplier 2.487",
    ),
    "dp-ldm": table.dp_sgd_claim(
        "DP-LDM: DP-SGD on the attention modules of a public latent diffusion model",
        "Lyu et al. 2023",
        2.487,
        1 / 15,
        4500,
        "a setting of ours: q=1/15, 4500 steps, noise multiplier 2.487",
    ),
    "chu-dpdm": table.chu_claim(
        "Chu et al. with gradients clipped per record and Poisson batches",
        table.chu_per_record,
        True,
        "Clipping per record, as the paper's proof has it, with Poisson batches is a Poisson-sampled Gaussian. "
        "The threshold comes from a public batch and costs nothing.",
    ),
    "chu-dpdm-printed": table.chu_claim(
        "Chu et al. with the threshold from the private batch, as line 5 of Algorithm 1 has it",
        table.chu_private_threshold,
        False,
        PRIVATE_THRESHOLD,
    ),
    "chu-dpdm-batch": table.chu_claim(
        "Chu et al. with the batch's gradient clipped, as Algorithm 1 has it, and the threshold public",
        table.chu_batch,
        False,
        "One record can turn the clipped mean of a batch by 2 C against noise C sigma/m, a multiplier of sigma/(2m). "
        "The bound is true and useless.",
    ),
    "dp-sad": table.sad_claim("DP-SAD in the paper's mode (eq. 17)", table.sad_teacher, TEACHER),
    "dp-sad-eq15": table.sad_claim(
        "DP-SAD with every term of the gradient clipped (eq. 15)",
        lambda: [gaussian_stage(table.SAD["noise_multiplier"] / (2 * 64 * 500), 1000)],
        "One record may change all B clipped terms through the teacher, so the mean moves by 2 C against noise sigma C/(B T). "
        "With noise of 340000 times the clipping norm in every coordinate nothing is learnt, and the bound is still this large.",
    ),
    "dp-sad-sound": table.sad_claim(
        "DP-SAD with a public teacher and the student's whole gradient clipped per record",
        table.sad_sound,
        "The teacher is public and the discriminator sees generated images alone, so records enter through the student's gradients. "
        "Clipped per record over Poisson batches they are a Poisson-sampled Gaussian, of which the paper's formula is no account.",
        "a setting of ours: s=1.62e6 parameters, n=60000, B=4000, N=4500, noise multiplier 2.487",
        table.SOUND_SAD,
    ),
    "dpgen": table.response_claim("DPGEN", RANDOMISED_INDEX, "Chen et al. 2022 (DPGEN)"),
    "p3dm": table.response_claim(
        "P3DM", RANDOMISED_INDEX_AND_PAC, "Xu et al. 2024 (P3DM), section 4", "; PAC privacy beside it: MI(X; M(X) + B) <= v + beta"
    ),
    "ddm": table.ddm_claim(),
    "dp-merf": table.embedding_claim("DP-MERF", dp_merf, 3.7306, 1, "Harder et al. 2021 (DP-MERF)"),
    "dp-mepf": table.embedding_claim("DP-MEPF", dp_mepf, 5.2759, 2, "Harder et al. 2023 (DP-MEPF)"),
    "dp-gan": table.not_in_notes("DP-GAN and DP-CGAN", "cited by the papers; DP-SGD on a discriminator"),
    "gs-wgan": table.not_in_notes("GS-WGAN", "cited by the papers; sanitised gradients of a generator"),
    "pate-gan": table.not_in_notes("PATE-GAN", "cited by the papers; PATE", DATA_DEPENDENT),
    "g-pate": table.not_in_notes("G-PATE", "cited by the papers; PATE", DATA_DEPENDENT),
    "datalens": table.not_in_notes("DataLens", "cited by the papers; PATE", DATA_DEPENDENT),
    "p3gm": table.not_in_notes("P3GM", "cited by the papers; private expectation maximisation"),
    "psg": table.not_in_notes("PSG", "cited by the papers"),
}

__all__ = [
    "CLAIMS",
    "Claim",
    "ClaimRow",
    "TwoPhases",
    "chu_dpdm",
    "claims_markdown",
    "claims_table",
    "ddm_theorem_1",
    "dp_mepf",
    "dp_merf",
    "dp_promise",
    "dp_promise_mu_1",
    "dp_promise_phase_one",
    "dp_sad",
    "dp_sgd",
    "keep_probability",
    "phase_1_distance",
    "randomized_response",
]
