"""Class moments, the floor of every table: three Gaussian releases, and a Gaussian for each class. No network."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.models.label_shares import LabelShares
from workbench.privacy.accounting.events import PartOfGaussianDpEvent, ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.floored_normals import NOISE_BITS
from workbench.training.grid import rounding_share
from workbench.training.norms import NormOrNone
from workbench.training.switches import Switches

MOST_DIMENSIONS = 1_200  # a second moment has half the square of them


class ClassMomentsConfig(MethodConfig):
    """Hyper-parameters of class moments."""

    switches: ClassVar[Switches] = {"max_norm": (0.0, 4.0), "pooling": (1, 2)}

    signed: ClassVar[bool] = False  # whether what a record adds may be negative: its difference from something public

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the three releases together, over the norm of one record; empty calibrates it."
    )
    share_of_sums: float = Field(default=0.45, ge=1e-4, le=0.9999, description="Part of the squared budget that the sums by class have.")
    share_of_counts: float = Field(
        default=0.05, ge=1e-4, le=0.9999, description="Part of the counts by class; the second moment has the rest."
    )
    max_norm: NormOrNone = Field(
        default=0.0, description="Norm that an image with pixels in [0, 1] is clipped to; 0 takes a quantile of public images' norms."
    )
    quantile: float = Field(default=0.95, gt=0, le=1, description="Which quantile of the norms of public images.")
    dataset: str = Field(default="glyphs", description="Public images that the norm is taken from.")
    records: int = Field(default=20_000, ge=1, description="How many of them.")
    pooling: int = Field(default=1, ge=1, description="Images are averaged over squares of this side, in pixels, and drawn as large again.")

    labels: LabelShares = LabelShares()

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_second_moment <= 0:
            raise ValueError("Expected share_of_sums and share_of_counts below 1 together: the second moment has the rest")
        return self

    @property
    def share_of_second_moment(self) -> float:
        """What the other two releases leave."""
        return 1.0 - self.share_of_sums - self.share_of_counts

    def pooled_shape(self, facts: DatasetFacts) -> tuple[int, int, int]:
        """(C, H, W) of an image as it is released."""
        channels, height, width = facts.shape
        return channels, -(-height // self.pooling), -(-width // self.pooling)

    def dimensions(self, facts: DatasetFacts) -> int:
        """Numbers of an image as it is released."""
        return math.prod(self.pooled_shape(facts))


MANTISSA = 52  # bits in which sums of products of whole numbers stay exact
MOST_PIXEL_BITS = 20
SUMS, COUNTS, SECOND_MOMENT = "class sums", "class counts", "second moment"
SIGNED_SUMS = (
    "A record adds how it differs from what is public of its class, clipped to norm C, to the sum of its class: making it null moves the "
    "sums by at most C, replacing it by at most 2 C, as two differences may be opposite. They are not opposite where they move the second "
    "moment farthest, nor in two classes: the three releases together move by less than each at its farthest."
)
REASONS = {
    SUMS: "A record adds its clipped image, of norm at most C and without negative numbers, to the sum of its class: making it null moves "
    "the sums by at most C, replacing it, label and all, by at most sqrt(2) C.",
    COUNTS: "A record adds one to the count of its class: making it null moves one count by 1, replacing it at most two.",
    SECOND_MOMENT: "A record adds the outer product of its clipped image with itself, of Frobenius norm at most C^2; two of them have no "
    "negative inner product, so replacing one moves the sum by at most sqrt(2) C^2.",
}


def multiplier(config: ClassMomentsConfig, name: str) -> float:
    """Noise of a release over the distance of a record made null: together they are one Gaussian of the configured multiplier."""
    shares = {SUMS: config.share_of_sums, COUNTS: config.share_of_counts, SECOND_MOMENT: config.share_of_second_moment}
    return multiplier_of_all(config) / math.sqrt(shares[name])


def multiplier_of_all(config: ClassMomentsConfig) -> float:
    """The configured multiplier."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return config.noise_multiplier


def numbers(config: ClassMomentsConfig, facts: DatasetFacts, name: str) -> int:
    """How many numbers a release has."""
    classes, dimensions = max(facts.num_classes, 1), config.dimensions(facts)
    return {SUMS: classes * dimensions, COUNTS: classes, SECOND_MOMENT: dimensions * (dimensions + 1) // 2}[name]


def pixel_bits(num_records: int) -> int:
    """In how many bits of the norm images are rounded for the second moment, so that sums of so many squares fit the mantissa."""
    return min(MOST_PIXEL_BITS, (MANTISSA - num_records.bit_length()) // 2)


def joint_distance(config: ClassMomentsConfig, facts: DatasetFacts) -> float:
    """How far replacing one record moves the three releases of signed differences together, in noise deviations times the multiplier.

    Two differences u, v, of norm 1 at most, in two classes: sums and second moment move as far as u and v at right angles let them,
    2 (w_1 + w_2 + w_3) = 2 in squares. In one class counts stand still, and with s = u.v it is w_1 (2 - 2 s) + w_3 (2 - 2 s^2), at
    its largest where s = -w_1 / (2 w_3) or, if that is beyond, -1. Sums and second moment round the differences apart, by a step in
    every number; and a second moment that moves by less than 1 has more of its own rounding than its noise was widened for.
    """
    sums, second = config.share_of_sums, config.share_of_second_moment
    cosine = max(-1.0, -sums / (2 * second))
    within = sums * (2 - 2 * cosine) + second * (2 - 2 * cosine**2)
    step = max(math.ldexp(1.0, -pixel_bits(facts.num_records)), math.ldexp(multiplier(config, SUMS), -NOISE_BITS))
    apart = 4 * sums * math.sqrt(config.dimensions(facts)) * step
    rounded = second * rounding_share(multiplier(config, SECOND_MOMENT), numbers(config, facts, SECOND_MOMENT))
    return math.sqrt(max(within + apart + rounded, 2.0 if facts.num_classes > 1 else 0.0))


def _event(config: ClassMomentsConfig, facts: DatasetFacts, name: str) -> ReplaceOneGaussianDpEvent:
    """What a release costs by itself, and of signed differences with the two others."""
    if not config.signed:
        return ReplaceOneGaussianDpEvent(multiplier(config, name) / math.sqrt(2), zero_out_ratio=math.sqrt(0.5))
    replaced = {SUMS: 2.0, COUNTS: math.sqrt(2), SECOND_MOMENT: math.sqrt(2)}  # over the norm
    together = {stage: multiplier(config, stage) / distance for stage, distance in replaced.items()}
    separate = math.sqrt(sum(noise**-2 for noise in together.values()))
    joint = min(separate, joint_distance(config, facts) / multiplier_of_all(config))
    return PartOfGaussianDpEvent(together[name], 1 / replaced[name], tuple(together.values()), 1 / joint)


def _stage(config: ClassMomentsConfig, facts: DatasetFacts, name: str) -> Stage:
    return Stage(
        name=name,
        event=_event(config, facts, name),
        spent="once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        reason=SIGNED_SUMS if config.signed and name == SUMS else REASONS[name],
    )


class ClassMoments(Method):
    """Noisy sums and counts by class and one noisy second moment; images drawn from a Gaussian for each class."""

    name = "class-moments"
    title = "Class moments (the floor)"
    source = "the workbench's own: what three Gaussian releases give without any network"
    Config = ClassMomentsConfig
    implementation = "workbench.methods.class_moments.training"
    released: ClassVar[tuple[str, ...]] = ("norm", "sums", "counts", "second_moment")
    shapes: ClassVar[tuple[str, ...] | None] = ("pooling",)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    sampling_fields: ClassVar[tuple[str, ...]] = ("labels",)
    config: ClassMomentsConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Large images are averaged down, as a second moment has half as many numbers as the square of theirs."""
        return {"pooling": math.ceil(math.sqrt(max(1.0, facts.dimensions / MOST_DIMENSIONS)))}

    @property
    def public_dataset(self) -> str | None:
        """The images that the clipping norm is taken from; None where it is given."""
        return None if self.config.max_norm else self.config.dataset

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.records

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the noisy counts, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Sums and counts by class, and the second moment of all classes together."""
        return [_stage(self.config, facts, name) for name in (SUMS, COUNTS, SECOND_MOMENT)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, as the floor that a method should beat: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
