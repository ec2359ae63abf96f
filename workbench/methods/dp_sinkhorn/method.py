"""DP-Sinkhorn (Cao et al. 2021): a generator that comes near to private batches by entropic optimal transport, without an adversary.

A step transports generated images to a Poisson batch of records. The gradient of that cost by all generated images together is
clipped once, gets noise, and is carried on into the generator: one vector a step, whatever the loss is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.methods.counted_labels import CountedLabels
from workbench.models.label_shares import PaidLabelShares
from workbench.privacy.accounting.formulas import TENSORFLOW_ORDERS, older_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import Schedule, check_batch_size
from workbench.training.private_steps import PoissonBatches, PrivateSteps, VisibleBatches

IMAGES = "image gradients"
AVERAGE = "ema"
REASON = (
    "The gradient by all generated images together is clipped to C once, so one record moves it by at most 2 C, which the noise is scaled "
    "to. A null record is left out of the batch, and the number of generated images is a constant (docs/proofs.md, section 2)."
)
VISIBLE = (
    "As many images are generated as records are drawn, null ones included, so the release shows the size of its batch. It is counted as "
    "if it showed which records were drawn."
)


class Training(DPSGD):
    """Noisy gradients by generated images, one a step, and the generator's step along each."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over 2 C, by which one record moves the clipped gradient; empty calibrates it."
    )
    max_grad_norm: float = Field(default=2.0, ge=1e-6, le=1e6, description="Norm C of the gradient by all generated images.")
    batch_size: float = Field(default=10, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=3000, ge=1, description="Noisy steps.")
    noise_multiplicity: int = Field(default=3, ge=1, description="Generated images for each record that a batch is expected to have.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the generator.")
    schedule: Schedule = Field(default="cosine", description="How the learning rate falls over the steps.")
    generated: Literal["constant", "realised"] = Field(
        default="constant",
        description="How many images a step generates: a constant number, or one for each record that was drawn, as the published code "
        "(which shows how many these were).",
    )

    @property
    def images(self) -> int:
        """How many images a step generates where that is a constant; at least two, as batch normalisation needs."""
        return max(2, round(self.rows))

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """Poisson batches, and noise over the 2 C by which a record turns the one vector that is clipped."""
        check_batch_size(name, self.batch_size, num_records)
        rate, deviation = self.sample_rate(num_records), 2.0 * self.known_noise_multiplier(name)
        batches = VisibleBatches(rate) if self.generated == "realised" else PoissonBatches(rate)
        return PrivateSteps(name, self.steps, batches, deviation, divisor=1.0, clipped="batch", distance=2.0)


class Transport(BaseModel):
    """The semi-debiased Sinkhorn divergence 2 W(G, X) - W(G, G') of generated images G and records X."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    absolute: float = Field(default=0.0, ge=0, le=1e3, description="Weight m of the l1 distance beside the squared l2 distance.")
    label_weight: float = Field(default=15.0, ge=0, le=1e3, description="What a class, one-hot, is multiplied by beside the pixels.")
    weights: Literal["batch", "even"] = Field(
        default="batch",
        description="Weights of generated images: each class has its share of the batch's records, or all images are alike (as published), "
        "which moves some to another class's records.",
    )
    blur: float = Field(default=2.0, ge=1e-3, le=1e3, description="Root of the entropy's weight.")
    iterations: int = Field(default=2, ge=1, le=10_000, description="Updates of the potentials at that weight, the last one.")
    fresh: float = Field(default=0.2, ge=0, le=1, description="Part of G' that is generated anew; the rest of it are images of G.")


class DPSinkhornConfig(MethodConfig):
    """Hyper-parameters of DP-Sinkhorn."""

    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    training: Training = Training()
    transport: Transport = Transport()
    labels: PaidLabelShares = PaidLabelShares()


SOURCE = "Cao et al. 2021 (DP-Sinkhorn)"
FORMULA = "RDP of the Poisson-sampled Gaussian of sensitivity 2 C over T steps, epsilon = min over a of T rdp(a) + log(1/delta)/(a - 1)"
NOTATION = {
    "num_records": "n",
    "training.batch_size": "",
    "training.noise_multiplier": "sigma",
    "training.steps": "T",
}
READINGS = {
    "dp-sinkhorn": Reading("DP-Sinkhorn on MNIST, a constant number of generated images", "published", FORMULA, NOTATION),
    "dp-sinkhorn-fashion": Reading(
        "DP-Sinkhorn on Fashion-MNIST, a constant number of generated images", "published-fashion", FORMULA, NOTATION, "fashion-mnist"
    ),
    "dp-sinkhorn-realised": Reading(
        "DP-Sinkhorn on MNIST, as many generated images as records drawn (the published code)", "published-realised", FORMULA, NOTATION
    ),
}
NOT_PROVED = (
    "The number of generated images is that of the records drawn, which the formula takes to be hidden; generating a constant number "
    "keeps 9.16. With the size visible, the relation that fixes n proves less, and nothing is proved where a record is added or removed."
)
UNCLAIMED = "The paper generates classes evenly and releases no counts of labels: only the bound counts."

PUBLISHED = {"published": (1.1, 3_446_203, 3.0), "published-fashion": (0.9, 1_811_609, 1.0)}  # sigma, the last step that claims 10, m


def published(facts: DatasetFacts, noise_multiplier: float, steps: int, absolute: float, generated: str = "constant") -> dict[str, Any]:
    """The published batch, noise, clipping norm, cost and learning rate, with this repository's generator."""
    return {
        "training.noise_multiplier": noise_multiplier,
        "training.batch_size": min(50, facts.num_records),
        "training.steps": steps,
        "training.max_grad_norm": 0.5,
        "training.noise_multiplicity": 1,
        "training.learning_rate": 1e-5,
        "training.schedule": "constant",
        "training.generated": generated,
        "transport": {"absolute": absolute, "label_weight": 15.0, "weights": "even", "blur": 0.05, "iterations": 5, "fresh": 0.2},
        "ema_decay": 0.0,
    }


def published_preset(name: str, words: str, generated: str = "constant") -> Preset:
    """The paper's settings of a dataset at delta 1e-5."""
    noise_multiplier, steps, absolute = PUBLISHED[name]
    values = partial(published, noise_multiplier=noise_multiplier, steps=steps, absolute=absolute, generated=generated)
    return Preset(f"The published settings for {words}, as many steps as claim epsilon 10.", values, lambda _facts: 1e-5)


PRESETS = Method.presets | {
    "published": published_preset("published", "MNIST with a constant number of generated images"),
    "published-fashion": published_preset("published-fashion", "Fashion-MNIST with a constant number of generated images"),
    "published-realised": published_preset("published", "MNIST with as many generated images as records are drawn", "realised"),
}


class DPSinkhorn(CountedLabels[DPSinkhornConfig]):
    """A generator alone: noisy gradients of a transport cost by what it generates, one clipped vector a step."""

    name = "dp-sinkhorn"
    title = "DP-Sinkhorn"
    source = "Cao et al. 2021"
    Config = DPSinkhornConfig
    implementation = "workbench.methods.dp_sinkhorn.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = (AVERAGE,)
    interruptible: ClassVar[tuple[str, ...]] = (IMAGES,)
    shapes: ClassVar[tuple[str, ...] | None] = (
        "latent_size",
        "hidden_size",
        "channels",
        "training.noise_multiplicity",
        "training.generated",
        "transport",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    config: DPSinkhornConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """A batch that there are records for, larger where images are: a smaller one lets more steps be taken."""
        return {"training.batch_size": min(50 if facts.dimensions > 300 else 10, facts.num_records)}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Counts of labels if asked for, and the noisy gradients."""
        training = self.config.training
        reason = VISIBLE if training.generated == "realised" else REASON
        return [*self.config.labels.stages(facts), training.stage(IMAGES, facts.num_records, reason)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all steps, converted as libraries did before 2022; nothing where counts of labels are released besides."""
        if self.config.labels.are_released:
            return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=UNCLAIMED, source=self.source)
        training = self.config.training
        value = older_rdp(**training.terms(IMAGES, facts.num_records), delta=delta, source=SOURCE, orders=TENSORFLOW_ORDERS)
        if training.generated == "constant":
            return value
        return value.model_copy(update={"status": "not_proved", "reason": NOT_PROVED})
