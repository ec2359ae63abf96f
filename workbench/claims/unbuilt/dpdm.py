"""DPDM (Dockhorn et al. 2023): DP-SGD on a diffusion model."""

from workbench.claims.unbuilt.bare import dp_sgd_claim

CLAIM = dp_sgd_claim(
    "DPDM",
    "Dockhorn et al. 2023 (DPDM)",
    "MNIST, batch 4096, 300 epochs",
    noise_multiplier=2.487,
    sample_rate=1 / 15,
    steps=4500,
)
