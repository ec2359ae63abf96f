"""The baseline of dp-promise: DP-SGD on a diffusion model that was trained on public images before."""

from workbench.claims.unbuilt.bare import dp_sgd_claim

CLAIM = dp_sgd_claim(
    "DP-SGD diffusion model after public pre-training",
    "Wang et al. 2024 (dp-promise), baseline",
    "MNIST",
    noise_multiplier=1.13,
    sample_rate=1 / 15,
    steps=750,
)
