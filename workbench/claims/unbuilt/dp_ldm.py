"""DP-LDM (Lyu et al. 2023): DP-SGD on the attention of a public latent diffusion model."""

from workbench.claims.unbuilt.bare import dp_sgd_claim
from workbench.training.dp_sgd import DPSGD

CLAIM = dp_sgd_claim(
    "DP-LDM: DP-SGD on the attention modules of a public latent diffusion model",
    "Lyu et al. 2023",
    "a setting of ours",
    DPSGD(noise_multiplier=2.487, batch_size=4000, steps=4500),
    num_records=60_000,
)
