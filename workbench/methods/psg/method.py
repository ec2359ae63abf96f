"""PSG (Chen, Kerkouche and Fritz 2022): a few images a class that teach as the private records do, by matching noisy gradients.

A classifier that is drawn anew gets a noisy gradient on the private records, and the images move so that their own gradient is like it.
Between such moves the classifier learns the images, so that they match along a training and not at its beginning alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.privacy.accounting.formulas import older_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD


class GradientMatching(DPSGD):
    """Noisy gradients of a classifier's loss, one a step; nothing but the images moves by them."""

    max_grad_norm: float = Field(default=0.1, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    batch_size: float = Field(default=500, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=600, ge=1, description="Noisy gradients altogether.")
    learning_rate: float = Field(default=5.0, ge=1e-9, le=1e3, description="How far an image moves along the gradient of the distance.")


class ClassifierTeaching(BaseModel):
    """How a classifier that is drawn anew is used: so often, and between these times it learns the images."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    batches: int = Field(default=10, ge=1, description="Noisy gradients at one state of a classifier.")
    rounds: int = Field(default=2, ge=1, description="States of a classifier before another is drawn.")
    inner_steps: int = Field(default=10, ge=1, le=100_000, description="Steps on the images that lead from one state to the next.")
    learning_rate: float = Field(default=0.01, ge=1e-9, le=1e3, description="Learning rate of these steps, with momentum .5.")


class Classifier(BaseModel):
    """Convolutions with instance normalisation and average pooling, and a linear layer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: int = Field(default=2, ge=1, le=6, description="Convolutions of 3x3, each with the size halved behind it.")
    width: int = Field(default=16, ge=1, le=1024, description="Channels of each.")


class PSGConfig(MethodConfig):
    """Hyper-parameters of PSG; None stands for what calibration finds."""

    images: int = Field(default=20, ge=1, le=10_000, description="Images of each class that are learned; samples are taken from them.")
    momentum: float = Field(default=0.5, ge=0, lt=1, description="Part of an image's last move that its next one repeats.")
    matching: GradientMatching = GradientMatching()
    teaching: ClassifierTeaching = ClassifierTeaching()
    classifier: Classifier = Classifier()


MATCHING = "gradient matching"


SOURCE = "Chen, Kerkouche and Fritz 2022 (PSG)"
FORMULA = "RDP of the Poisson-sampled Gaussian over T steps, epsilon = min over a of T rdp(a) + log(1/delta)/(a - 1)"
NOTATION = {
    "num_records": "n",
    "matching.batch_size": "",
    "matching.noise_multiplier": "sigma",
    "matching.steps": "T",
}
READINGS = {"psg": Reading("PSG: gradient matching on Poisson batches, 20 images a class", "published", FORMULA, NOTATION)}


# Images a class: noise for the claims of 10 and 1, rounds and inner steps.
PUBLISHED = {1: (0.62187, 2.2268, 1, 1), 10: (1.00885, 6.6582, 10, 50), 20: (1.27781, 9.3845, 20, 25)}


def published(facts: DatasetFacts, images: int, noise_multiplier: float) -> dict[str, Any]:
    """MNIST's settings: 1000 classifiers of 3 blocks of 128, batches of 256, C = .1."""
    rounds, epochs = PUBLISHED[images][2:]
    size = min(256.0, facts.num_records)
    return {
        "images": images,
        "matching.noise_multiplier": noise_multiplier,
        "matching.batch_size": size,
        "matching.steps": 1000 * rounds * 10,
        "matching.max_grad_norm": 0.1,
        "matching.learning_rate": 0.1,
        "teaching": {"batches": 10, "rounds": rounds, "inner_steps": epochs, "learning_rate": 0.01},
        "classifier": {"blocks": 3, "width": 128},
    }


def published_preset(images: int, epsilon: float, noise_multiplier: float) -> Preset:
    """The paper's settings for so many images a class and a claim."""
    return Preset(
        f"The paper's settings on MNIST for {images} images a class and epsilon {epsilon:g}; classifiers learn all images in one batch.",
        partial(published, images=images, noise_multiplier=noise_multiplier),
        lambda _facts: 1e-5,
    )


# Of a classifier of few weights a gradient has less noise, and images can go farther along it (docs/tried.md).
SMALL: dict[str, Any] = {
    "classifier.blocks": 1,
    "classifier.width": 4,
    "matching.batch_size": 500,
    "matching.steps": 2_000,
    "matching.learning_rate": 15.0,
}
LARGE: dict[str, Any] = {"classifier.blocks": 3, "matching.batch_size": 600}  # 28x28 and more


PRESETS = Method.presets | {
    f"published{'' if images == 20 else f'-of-{images}'}{ending}": published_preset(images, epsilon, noise)
    for images, noises in PUBLISHED.items()
    for ending, epsilon, noise in (("", 10, noises[0]), ("-1", 1, noises[1]))
}


class PSG(Method):
    """A few images a class, moved so that a classifier's gradient on them is like the noisy one on the private records."""

    name = "psg"
    title = "PSG"
    source = "Chen, Kerkouche and Fritz 2022"
    Config = PSGConfig
    implementation = "workbench.methods.psg.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("images",)
    interruptible: ClassVar[tuple[str, ...]] = (MATCHING,)
    shapes: ClassVar[tuple[str, ...] | None] = ("images", "teaching", "classifier", "matching.noise_multiplicity")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("matching.noise_multiplier"),)
    config: PSGConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """A classifier that suits the images' size, and a batch that there are records for."""
        values = LARGE if facts.dimensions > 300 else SMALL
        return {**values, "matching.batch_size": min(values["matching.batch_size"], facts.num_records)}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The noisy gradients."""
        if facts.num_classes < 2:
            raise WorkbenchError(f"Expected records of two classes or more to match a classifier's gradients on, got {facts.name}.")
        smallest = 2**self.config.classifier.blocks
        if min(facts.shape[1:]) < smallest:
            raise WorkbenchError(f"Expected images of {smallest} pixels a side or more for {self.config.classifier.blocks} blocks.")
        return [self.config.matching.stage(MATCHING, facts.num_records)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all steps, converted as libraries did before 2022."""
        return older_rdp(**self.config.matching.terms(MATCHING, facts.num_records), delta=delta, source=SOURCE)
