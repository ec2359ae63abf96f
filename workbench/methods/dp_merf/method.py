"""DP-MERF (Harder, Adamczewski and Park 2021): one Gaussian release of a mean embedding, then a generator fitted to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.models.label_shares import LABEL_COUNTS, PaidLabelShares
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches


class GeneratorTraining(OrdinaryTraining):
    """The generator's steps."""

    steps: int = Field(default=800, ge=1, description="Generator steps; they touch the release alone.")
    batch_size: int = Field(default=500, ge=1, description="Generated images in a step.")
    learning_rate: float = Field(default=1e-2, ge=1e-9, le=1e3, description="Adam's first learning rate.")


class DPMERFConfig(MethodConfig):
    """Hyper-parameters of DP-MERF."""

    switches: ClassVar[Switches] = {"length_scale": (0.0, 2.0)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over the replace-one distance 2/num_records; empty calibrates it to the target."
    )
    num_features: int = Field(default=2_000, ge=2, description="Random Fourier features (cosines and sines together).")
    length_scale: float = Field(
        default=0.0, ge=0, le=1e6, description="Kernel length scale on pixels in [0, 1]; 0 takes sqrt(0.134 dimensions)."
    )
    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    training: GeneratorTraining = GeneratorTraining()
    labels: PaidLabelShares = PaidLabelShares()

    def embedding_shape(self, facts: DatasetFacts) -> tuple[int, int]:
        """(features, classes) of the release: a mean embedding for each class."""
        return self.num_features // 2 * 2, max(facts.num_classes, 1)


RELEASE, GENERATOR = "release", "generator"


READINGS = {
    "dp-merf": Reading(
        title="DP-MERF",
        preset="claim-1",
        formula="analytic Gaussian mechanism at the replace-one sensitivity 2/n, noise_multiplier over it",
        notation={"num_records": "n", "noise_multiplier": ""},
    )
}


def claimed(*, noise_multiplier: float, delta: float, counts_noise: float = math.inf) -> PrivacyValue:
    """One Gaussian mechanism on the mean embedding, noise over its replace-one sensitivity 2/n; exactly GDP.

    `counts_noise` is that of each class's count, two of which a record in another's place moves by one; infinite where none are released.
    """
    if math.isfinite(counts_noise):
        noise_multiplier = (noise_multiplier**-2 + 2.0 / counts_noise**2) ** -0.5
    return gaussian_releases(noise_multiplier, 1, delta, "Harder et al. 2021 (DP-MERF), analytic Gaussian mechanism")


PRESETS = Method.presets | {
    "claim-1": Preset(
        "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the paper's formula; everything else suits the dataset.",
        lambda _facts: {"noise_multiplier": 3.7306},
        lambda _facts: 1e-5,
    )
}


class DPMERF(Method):
    """One release of the label-wise mean of random Fourier features; everything after it is post-processing."""

    name = "dp-merf"
    title = "DP-MERF"
    source = "Harder, Adamczewski and Park 2021"
    Config = DPMERFConfig
    implementation = "workbench.methods.dp_merf.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("generator",)
    shapes: ClassVar[tuple[str, ...] | None] = ("num_features", "latent_size", "hidden_size", "channels")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: DPMERFConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """10 000 features where images have hundreds of pixels; small images need fewer, which add less noise.

        Mostly black images want the smaller learning rate: at 1e-2 the generator may fall to all black and stay there.
        """
        return {"num_features": 10_000, "training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    @property
    def released_parts(self) -> tuple[str, ...]:
        """The generator, and the counts of labels where samples follow them."""
        return (*self.released, *[LABEL_COUNTS] * self.config.labels.are_released)

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by counts that were paid for."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release, counts of labels if asked for, and the generator's training that is free."""
        assert self.config.noise_multiplier is not None
        event = ReplaceOneGaussianDpEvent(self.config.noise_multiplier, zero_out_ratio=0.5)
        release = Stage(
            name=RELEASE,
            event=event,
            spent="once",
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records, once",
            reason="Every record adds a vector of norm 1/num_records, so replacing one moves the mean by at most 2/num_records "
            "and making one null by at most 1/num_records.",
        )
        return [release, *self.config.labels.stages(facts), self.config.training.free_stage(GENERATOR)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's analytic Gaussian mechanism at sensitivity 2/num_records, with that of the counts, if these are released."""
        assert self.config.noise_multiplier is not None
        counts_noise = self.config.labels.noise_multiplier if self.config.labels.are_released else math.inf
        return claimed(noise_multiplier=self.config.noise_multiplier, delta=delta, counts_noise=counts_noise)
