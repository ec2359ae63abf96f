"""DP-LDM (Lyu et al. 2023): DP-SGD on the attention of a public latent diffusion model."""

from workbench.claims.unbuilt.bare import dp_sgd_claim

CLAIM = dp_sgd_claim(
    "DP-LDM: DP-SGD on the attention modules of a public latent diffusion model",
    "Lyu et al. 2023",
    "a setting of ours",
    noise_multiplier=2.487,
    sample_rate=1 / 15,
    steps=4500,
)
