"""DPDM (Dockhorn et al. 2023): DP-SGD on a diffusion model."""

from workbench.claims.unbuilt.bare import dp_sgd_claim
from workbench.training.dp_sgd import DPSGD

CLAIM = dp_sgd_claim(
    "DPDM",
    "Dockhorn et al. 2023 (DPDM)",
    "300 epochs of MNIST",
    DPSGD(noise_multiplier=2.487, batch_size=4000, steps=4500),
    num_records=60_000,
)
