"""What class moments release: three Gaussian mechanisms on all records."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.privacy.accounting.events import PartOfGaussianDpEvent, ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.floored_normals import NOISE_BITS
from workbench.training.grid import rounding_share

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


def stages(config: ClassMomentsConfig, facts: DatasetFacts) -> list[Stage]:
    """Sums and counts by class, and the second moment of all classes together."""
    return [_stage(config, facts, name) for name in (SUMS, COUNTS, SECOND_MOMENT)]


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
