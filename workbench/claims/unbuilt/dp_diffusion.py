"""DP-Diffusion (Ghalebikesabi et al. 2023): DP-SGD fine-tuning with augmentation multiplicity."""

from workbench.claims.unbuilt.bare import dp_sgd_claim

CLAIM = dp_sgd_claim(
    "DP-Diffusion: DP-SGD fine-tuning with augmentation multiplicity and a timestep mixture",
    "Ghalebikesabi et al. 2023",
    "a setting of ours",
    noise_multiplier=2.487,
    sample_rate=1 / 15,
    steps=4500,
)
