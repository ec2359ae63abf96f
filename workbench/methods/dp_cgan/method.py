"""DP-CGAN (Torkzadehmahani, Kairouz and Paten 2019): a conditional GAN whose discriminator is trained by DP-SGD.

A generator draws an image of a class, a discriminator is told the class and says how much an image seems to be a record. The
discriminator alone sees records. Here its loss of a record and that of a generated image are clipped and noised together; the paper
clips the two apart and adds no noise to the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.adversarial import AdversarialConfig, AdversarialMethod
from workbench.methods.base import Method, Preset, Reading
from workbench.models.adversarial.config import CriticTraining
from workbench.models.embeddings.config import GENERATOR
from workbench.models.settings import DP_SGD
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.formulas import older_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import REASON
from workbench.training.private_steps import FixedBatches, PrivateSteps
from workbench.training.randomness import Randomness


@dataclass(frozen=True)
class OrderedBatches(FixedBatches):
    """One slice of the records after the other, the same in every epoch."""

    def drawn(self, randomness: Randomness, purpose: str, step: int, num_records: int) -> np.ndarray:
        """Ascending; what is left of the records after the last full slice is never drawn."""
        return (step - 1) % (num_records // self.size) * self.size + np.arange(self.size)


class Training(CriticTraining):
    """The discriminator's noisy steps: by DP-SGD, or as the code has them."""

    form: Literal["clipped", "coded"] = Field(
        default="clipped",
        description="Poisson batches and all of a record's loss clipped; or as coded: batches in one order, normalised over, their labels "
        "for the generator and generated images without noise of their own, for study.",
    )

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """Those of DP-SGD; as coded, in one order, which nothing bounds."""
        steps = super().private_steps(name, num_records)
        if self.form == "clipped":
            return steps
        if (size := round(self.batch_size)) < 2:
            raise WorkbenchError(f"Expected batches of two records or more to normalise over, got training.batch_size={self.batch_size:g}.")
        return replace(steps, batches=OrderedBatches(size), divisor=float(size), unproved=CODED)

    def stage(self, name: str, num_records: int, reason: str = REASON) -> Stage:
        """The stage; as coded, with the reason why nothing bounds it."""
        return super().stage(name, num_records, CODED if self.form == "coded" else reason)


class DPCGANConfig(AdversarialConfig):
    """Hyper-parameters of DP-CGAN; None stands for what calibration finds."""

    training: Training = Training()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


CODED = (
    "The published code normalises over the batch, so that a record changes the clipped gradient of every other, and gives the generator "
    "the batch's labels without noise: nothing bounds either. Its batches are slices in one order, which amplify nothing: that alone makes "
    "297.8 of the notebook's 9.6, a Gaussian release in each of 152 epochs."
)
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
    "dp-cgan-coded": Reading("DP-CGAN as coded", "published-coded", FORMULA, NOTATION),
}


def published(facts: DatasetFacts, batch_size: float, noise_multiplier: float, steps: int, form: str) -> dict[str, Any]:
    """The code's settings on MNIST, its networks by the nearest shapes of ours; a generator's step after each of the discriminator."""
    return {
        "latent_size": 100,
        "hidden_size": 1_024,
        "channels": 128,
        "loss": "bce",
        "critic": {"blocks": 2, "width": 64, "hidden_size": 1_024, "normalization": "group"},
        "training.form": form,
        "training.batch_size": min(batch_size, facts.num_records),
        "training.noise_multiplier": noise_multiplier,
        "training.steps": steps,
        "training.max_grad_norm": 1.0,
        "training.optimizer": "sgd",
        "training.learning_rate": 0.1,
        "generator": {"critic_steps": 1, "batch_size": round(batch_size), "learning_rate": 2e-4},
    }


FORMS = {
    "clipped": "with Poisson batches and group normalisation",
    "coded": "as coded: normalised over batches in one order, for study",
}


def published_preset(batch_size: float, noise_multiplier: float, steps: int, words: str, form: str = "clipped") -> Preset:
    """The code's settings with a batch, noise and the steps after which its accountant stops at 9.6."""
    return Preset(
        f"{words} on MNIST, which its authors claim epsilon 9.6 for at delta 1e-5, {FORMS[form]}.",
        partial(published, batch_size=batch_size, noise_multiplier=noise_multiplier, steps=steps, form=form),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {
    "published": published_preset(600, 1.15, 24_859, "The paper's settings"),
    "published-notebook": published_preset(64, 0.6, 141_566, "The published notebook's settings"),
    "published-coded": published_preset(64, 0.6, 141_566, "The published notebook's settings", "coded"),
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

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """As ever; as coded, the generator's steps look at records too, which nothing bounds."""
        *others, following = super().stages(facts)
        if self.config.training.form == "clipped":
            return [*others, following]
        event = UnprovedDpEvent(CODED)
        coded = Stage(GENERATOR, event, "per_step", following.steps, sampling="no amplification", reason=CODED, rows=following.rows)
        return [*others, coded]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The moments accountant's, converted as libraries did before 2022; not proved of the code."""
        value = older_rdp(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta, source=SOURCE)
        if self.config.training.form == "clipped":
            return value
        return value.model_copy(update={"status": "not_proved", "reason": CODED})
