"""The baseline of dp-promise: DP-SGD on a diffusion model that was trained on public images before."""

from workbench.claims.unbuilt.bare import dp_sgd_claim
from workbench.training.dp_sgd import DPSGD

CLAIM = dp_sgd_claim(
    "DP-SGD diffusion model after public pre-training",
    "Wang et al. 2024 (dp-promise), baseline",
    "MNIST",
    DPSGD(noise_multiplier=1.13, batch_size=4000, steps=750),
    num_records=60_000,
)
