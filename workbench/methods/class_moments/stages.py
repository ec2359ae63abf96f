"""What class moments release: three Gaussian mechanisms on all records."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.one_shot import sampler_distance

SUMS, COUNTS, SECOND_MOMENT = "class sums", "class counts", "second moment"
SIGNED_SUMS = (
    "A record adds how it differs from what is public of its class, clipped to norm C, to the sum of its class: making it null moves the "
    "sums by at most C, replacing it by at most 2 C, as two differences may be opposite."
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
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    shares = {SUMS: config.share_of_sums, COUNTS: config.share_of_counts, SECOND_MOMENT: config.share_of_second_moment}
    return config.noise_multiplier / math.sqrt(shares[name])


def numbers(config: ClassMomentsConfig, facts: DatasetFacts, name: str) -> int:
    """How many numbers a release has."""
    classes, dimensions = max(facts.num_classes, 1), config.dimensions(facts)
    return {SUMS: classes * dimensions, COUNTS: classes, SECOND_MOMENT: dimensions * (dimensions + 1) // 2}[name]


def _stage(config: ClassMomentsConfig, facts: DatasetFacts, name: str) -> Stage:
    opposite = config.signed and name == SUMS
    replaced, nulled = (2.0, 0.5) if opposite else (math.sqrt(2), math.sqrt(0.5))  # over the norm; and null's part of that
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(multiplier(config, name) / replaced, zero_out_ratio=nulled),
        spent="once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=sampler_distance(numbers(config, facts, name)),
        reason=SIGNED_SUMS if opposite else REASONS[name],
    )
