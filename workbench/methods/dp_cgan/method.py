"""DP-CGAN (Torkzadehmahani, Kairouz and Paten 2019): a conditional GAN whose discriminator is trained by DP-SGD.

A generator draws an image of a class, a discriminator is told the class and says how much an image seems to be a record. The
discriminator alone sees records. Here its loss of a record and that of a generated image are clipped and noised together; the paper
clips the two apart and adds no noise to the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.adversarial import AdversarialConfig, AdversarialMethod
from workbench.methods.base import Method, Preset, Reading
from workbench.models.settings import DP_SGD
from workbench.privacy.accounting.formulas import older_rdp
from workbench.privacy.accounting.values import PrivacyValue


class DPCGANConfig(AdversarialConfig):
    """Hyper-parameters of DP-CGAN; None stands for what calibration finds."""


SOURCE = "Torkzadehmahani, Kairouz and Paten 2019 (DP-CGAN)"
FORMULA = "RDP of the Poisson-sampled Gaussian over T steps, epsilon = min over a of T rdp(a) + log(1/delta)/(a - 1)"
NOTATION = {
    "num_records": "n",
    "training.batch_size": "B",
    "training.noise_multiplier": "sigma",
    "training.steps": "T",
}
READINGS = {
    "dp-cgan": Reading("DP-CGAN, group normalisation, Poisson batches", "published", FORMULA, NOTATION),
    "dp-cgan-notebook": Reading("DP-CGAN by its notebook's settings, the same", "published-notebook", FORMULA, NOTATION),
}


def published(facts: DatasetFacts, batch_size: float, noise_multiplier: float, steps: int) -> dict[str, Any]:
    """The code's settings on MNIST, its networks by the nearest shapes of ours; a generator's step after each of the discriminator."""
    return {
        "latent_size": 100,
        "hidden_size": 1_024,
        "channels": 128,
        "loss": "bce",
        "critic": {"blocks": 2, "width": 64, "hidden_size": 1_024, "normalization": "group"},
        "training.batch_size": min(batch_size, facts.num_records),
        "training.noise_multiplier": noise_multiplier,
        "training.steps": steps,
        "training.max_grad_norm": 1.0,
        "training.optimizer": "sgd",
        "training.learning_rate": 0.1,
        "generator": {"critic_steps": 1, "batch_size": round(batch_size), "learning_rate": 2e-4},
    }


def published_preset(batch_size: float, noise_multiplier: float, steps: int, words: str) -> Preset:
    """The code's settings with a batch, noise and the steps after which its accountant stops at 9.6."""
    return Preset(
        f"{words} on MNIST, which its authors claim epsilon 9.6 for at delta 1e-5, with Poisson batches and group normalisation.",
        partial(published, batch_size=batch_size, noise_multiplier=noise_multiplier, steps=steps),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {
    "published": published_preset(600, 1.15, 24_859, "The paper's settings"),
    "published-notebook": published_preset(64, 0.6, 141_566, "The published notebook's settings"),
}


class DPCGAN(AdversarialMethod[DPCGANConfig]):
    """A discriminator that is told the class and trained by DP-SGD, and a generator that follows it."""

    name = "dp-cgan"
    title = "DP-CGAN"
    source = "Torkzadehmahani, Kairouz and Paten 2019"
    Config = DPCGANConfig
    implementation = "workbench.methods.dp_cgan.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    config: DPCGANConfig

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The moments accountant's, converted as libraries did before 2022."""
        return older_rdp(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta, source=SOURCE)
