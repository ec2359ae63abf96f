"""P3GM (Takagi et al. 2021): private principal components and mixtures of Gaussians, and a decoder that DP-SGD trains between them.

An autoencoder whose encoder's mean is fixed beforehand: the projection to private principal components. Where records lie there is told by
a private mixture of Gaussians, which samples are drawn from and decoded. Here the mixture is one of each class and the decoder is told
the class; the paper's decoder draws a label beside the image.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.models.settings import DP_SGD
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.formulas import composed_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining

MOST_NUMBERS = 1_200  # of an image: a second moment has half the square of them


class Release(BaseModel):
    """A Gaussian release of all records in `rounds`, whose noise follows from a share of the target where it is empty."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over what making a record null moves; empty takes it from the share."
    )
    share: float = Field(default=0.2, ge=1e-4, le=0.9, description="Part of the target's mu^2 that it takes where that noise is empty.")

    @property
    def stage_name(self) -> str:
        """What the plan calls it."""
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """How often it is made."""
        return 1

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """Its stage: what replacing a record moves is sqrt(2) times what making it null moves."""
        if self.noise_multiplier is None:
            raise WorkbenchError(
                f"Expected a noise_multiplier of {self.stage_name}, got none: give one, or an epsilon that it has a share of."
            )
        event = ReplaceOneGaussianDpEvent(self.noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5))
        return Stage(
            name=self.stage_name,
            event=event,
            spent="once" if self.rounds == 1 else "per_step",
            steps=self.rounds,
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records, once" if self.rounds == 1 else "all records in every round",
            reason=REASON,
        )


class Centre(Release):
    """What is taken off every image before its components are looked for."""

    kind: Literal["noisy", "constant", "exact"] = Field(
        default="noisy", description="The noisy mean image, grey, or the exact mean, which the published code uses and does not count."
    )
    share: float = Field(default=0.05, ge=1e-4, le=0.9, description="Part of the target's mu^2 that a noisy mean takes.")

    @property
    def stage_name(self) -> str:
        """The centre's."""
        return CENTRE

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release, none of a constant, or one that nothing bounds."""
        if self.kind == "exact":
            return [Stage(CENTRE, UnprovedDpEvent(EXACT, status="refuted"), "once", sampling="all records, once", reason=EXACT)]
        return [self.round_stage(facts)] if self.kind == "noisy" else []


class Components(Release):
    """Principal components by a noisy second moment."""

    number: int = Field(default=10, ge=1, le=1_000, description="Components that images are projected to.")
    max_norm: float = Field(default=4.0, ge=1e-3, le=1e4, description="Norm that an image less its centre is clipped to, pixels in [0, 1].")
    share: float = Field(default=0.3, ge=1e-4, le=0.9, description="Part of the target's mu^2 that it takes where that noise is empty.")

    @property
    def stage_name(self) -> str:
        """The components'."""
        return COMPONENTS


class Mixture(Release):
    """Expectation maximisation of a mixture for each class, on records' projections within the unit ball."""

    components: int = Field(default=1, ge=1, le=1_000, description="Gaussians of each class, each with variances of its own.")
    steps: int = Field(default=1, ge=1, le=10_000, description="Rounds of expectation and maximisation; one Gaussian a class needs one.")

    @property
    def stage_name(self) -> str:
        """The mixture's."""
        return MIXTURE

    @property
    def rounds(self) -> int:
        """The rounds."""
        return self.steps


class Autoencoder(BaseModel):
    """The decoder, and the encoder's variances."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: int = Field(default=100, ge=1, le=10_000, description="Units of the decoder's one hidden layer, and of the variances' network.")
    divergence: float = Field(
        default=0.02, ge=1e-6, le=1e3, description="Weight of the divergence from the mixture beside the squared error of the pixels."
    )


class DecoderTraining(OrdinaryTraining):
    """Ordinary steps on what is released: draws of the mixture, and what the components make of them."""

    steps: int = Field(default=500, ge=1, description="Steps of the decoder on draws of the released mixture.")


class Training(DPSGD):
    """DP-SGD on decoder and variances."""

    max_grad_norm: float = Field(default=1.0, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    batch_size: float = Field(default=150, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=100, ge=1, description="DP-SGD steps.")


class P3GMConfig(MethodConfig):
    """Hyper-parameters of P3GM; None stands for what calibration finds."""

    pooling: int = Field(default=1, ge=1, le=64, description="Images are averaged over squares of this side, and drawn as large again.")
    centre: Centre = Centre()
    components: Components = Components()
    mixture: Mixture = Mixture()
    autoencoder: Autoencoder = Autoencoder()
    decoder: DecoderTraining = DecoderTraining()
    training: Training = Training()

    def pooled_shape(self, facts: DatasetFacts) -> tuple[int, int, int]:
        """(C, H, W) of an image as it is learned."""
        channels, height, width = facts.shape
        return channels, -(-height // self.pooling), -(-width // self.pooling)

    def numbers(self, facts: DatasetFacts) -> int:
        """Numbers of an image as it is learned."""
        return math.prod(self.pooled_shape(facts))


CENTRE, COMPONENTS, MIXTURE, DECODER = "centre", "components", "mixture", "decoder of the released mixture"
REASON = (
    "Centre, components and mixture are sums to which a record adds its image, the outer product of its clipped difference from the "
    "centre, and its responsibilities, these times its projection within the unit ball and its squares: making it null moves them by "
    "sqrt(D), C^2 and sqrt(3) at most, replacing it by sqrt(2) times as much."
)
EXACT = (
    "The exact mean of the records centres them and enters what the decoder learns first, so no finite epsilon holds. The code's batches "
    "are fixed blocks besides, which amplify nothing in the worst case: with the coins seen its .99 is 9.56."
)


SOURCE = "Takagi et al. 2021 (P3GM)"
FORMULA = "RDP together: a Gaussian of noise s_p, 2K+1 of noise s_e in each of R rounds, DP-SGD of noise sigma at B/n over T steps"
NOTATION = {
    "num_records": "n",
    "components.noise_multiplier": "s_p",
    "mixture.noise_multiplier": "s_e/sqrt(3)",
    "mixture.steps": "R",
    "training.batch_size": "B",
    "training.noise_multiplier": "sigma",
    "training.steps": "T",
}
READINGS = {
    "p3gm": Reading("P3GM with a constant centre and Poisson batches", "published", FORMULA, NOTATION),
    "p3gm-exact": Reading("P3GM around the exact mean, as coded", "published-exact", FORMULA, NOTATION),
}


def claimed(config: P3GMConfig, facts: DatasetFacts, delta: float) -> PrivacyValue:
    """The RDP of components, mixture and DP-SGD; the centre is in no formula. Three releases of noise s are one of s / sqrt(3)."""

    components, mixture, training = config.components.noise_multiplier, config.mixture.noise_multiplier, config.training
    assert components is not None
    assert mixture is not None
    parts = [
        (dp_event.GaussianDpEvent(components), 1),
        (dp_event.GaussianDpEvent(mixture), config.mixture.steps),
        (training.private_steps(DP_SGD, facts.num_records).event, training.steps),
    ]
    return composed_rdp(parts, delta, SOURCE)


def published(facts: DatasetFacts, centre: str) -> dict[str, Any]:
    """The code's settings on MNIST: 1.4 over four epochs of lots of 300, 5 for the components, 100 in 20 rounds of the mixture."""
    lot = min(300.0, facts.num_records)
    return {
        "centre.kind": centre,
        "components.number": 20,
        "components.noise_multiplier": 5.0,
        "components.max_norm": 1.0,
        "mixture.components": 1,
        "mixture.steps": 20,
        "mixture.noise_multiplier": 57.735,  # 100 / sqrt(3)
        "autoencoder.hidden": 1_000,
        "training.batch_size": lot,
        "training.noise_multiplier": 1.4,
        "training.steps": round(4 * facts.num_records / lot),
        "training.max_grad_norm": 1.0,
    }


def published_preset(centre: str, words: str) -> Preset:
    """The code's settings with a centre."""
    return Preset(
        f"The published code's settings on MNIST, which it claims epsilon 1 for at delta 1e-5, {words}.",
        lambda facts: published(facts, centre),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {
    "published": published_preset("constant", "with a constant centre"),
    "published-exact": published_preset("exact", "around the exact mean"),
}


class P3GM(Method):
    """Private components, a private mixture for each class, and an autoencoder between them that DP-SGD trains."""

    name = "p3gm"
    title = "P3GM"
    source = "Takagi et al. 2021"
    Config = P3GMConfig
    implementation = "workbench.methods.p3gm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("autoencoder", "sums")
    interruptible: ClassVar[tuple[str, ...]] = (DP_SGD,)
    shapes: ClassVar[tuple[str, ...] | None] = (
        "pooling",
        "components.number",
        "mixture.components",
        "autoencoder.hidden",
        "training.noise_multiplicity",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    config: P3GMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """More of everything for larger images, which are averaged down where a second moment would be too large."""
        large = facts.dimensions > 300
        values = {"components.number": 20, "components.max_norm": 8.0, "autoencoder.hidden": 300, "training.steps": 200} if large else {}
        return {
            **values,
            "pooling": math.ceil(math.sqrt(max(1.0, facts.dimensions / MOST_NUMBERS))),
            "training.batch_size": min(600 if large else 150, facts.num_records),
        }

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """Each release has the noise of its share (unless given), DP-SGD what then meets `epsilon`."""
        assert isinstance(config, P3GMConfig)
        for name, part in (("centre", config.centre), ("components", config.components), ("mixture", config.mixture)):
            counted = not isinstance(part, Centre) or part.kind == "noisy"
            if counted and (target == "bound" or part.noise_multiplier is None):
                config = votes.with_vote_noise(config, name, part.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The centre if any, components, mixture, the decoder of these (free), DP-SGD."""
        config = self.config
        if config.components.number > config.numbers(facts):
            raise WorkbenchError(
                f"Expected components.number of at most the {config.numbers(facts)} numbers of an image, got {config.components.number}. "
                f"Use components.number={config.numbers(facts)}."
            )
        return [
            *config.centre.stages(facts),
            config.components.round_stage(facts),
            config.mixture.round_stage(facts),
            config.decoder.free_stage(DECODER),
            config.training.stage(DP_SGD, facts.num_records),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all that the paper counts."""
        return claimed(self.config, facts, delta)
