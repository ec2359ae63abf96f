"""Cluster moments: a mixture of Gaussians for each class, from noisy sums of clusters in directions that a noisy second moment has.

No network and no public image: what it takes of images in general is that their coarse frequencies come first.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any, ClassVar, Self, TypeVar

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Target
from workbench.methods.fields import with_values
from workbench.models import frames
from workbench.models.label_shares import LabelShares
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.switches import Switches


class Mixtures(MethodConfig):
    """A mixture of Gaussians for each class and how it is released; pixels are in [0, 1], and a norm is over that of a white image."""

    switches: ClassVar[Switches] = {
        "rounds": (1, 2),
        "share_of_counts": (0.2, 0.9),  # from .5 on two images move less than two ones
        "groups": (0, 2),
        "moment_normalisation": (True,),
    }

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over the norm of one record; empty calibrates it."
    )
    share_of_sums: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the squared budget that the sums by class have.")
    share_of_second_moment: float = Field(
        default=0.25, ge=1e-4, le=0.9999, description="Part of the second moment, whose directions the clusters lie in."
    )
    share_of_spreads: float = Field(
        default=0.1, ge=1e-4, le=0.9999, description="Part of each class's spread about its clusters; the sums by cluster have the rest."
    )
    share_of_counts: float = Field(
        default=0.2, ge=1e-4, le=0.9999, description="Part of a sum, by class or cluster, that the count of its records has."
    )
    frequencies: int = Field(
        default=18, ge=1, le=64, description="How many of the coarsest cosines of each side are looked at; no more than pixels."
    )
    directions: int = Field(default=100, ge=1, le=1_200, description="Principal directions of these that images are drawn in, at most.")
    clusters: int = Field(default=60, ge=1, le=10_000, description="Clusters of each class; those of too few records are left out.")
    rounds: int = Field(
        default=3,
        ge=1,
        le=100,
        description="How often the sums by cluster are released, each time about centres that follow from the last ones.",
    )
    groups: int = Field(
        default=0,
        ge=0,
        le=1_000,
        description="Groups of each class's clusters with a covariance of their own about them each; 0 has a class's variances alone.",
    )
    group_directions: int = Field(
        default=60, ge=1, le=1_200, description="The widest directions, that a group's covariance is in; in others all records' is taken."
    )
    moment_normalisation: bool = Field(
        default=False,
        description="Bring each image, bright on dark, to a standard place, slant and size by its moments, and release its own beside its "
        "shape; draws get them back. It suits drawings and not clothes.",
    )
    max_norm: float = Field(default=0.46, ge=1e-3, le=1, description="Norm that an image is clipped to for the sums by class.")
    max_difference: float = Field(
        default=0.24, ge=1e-3, le=1, description="Norm that its difference from its class's noisy mean is clipped to."
    )
    reach: float = Field(
        default=1.3,
        ge=1e-2,
        le=1e2,
        description="Over the root of what the variances that were released add up to: the norm that differences are clipped to later.",
    )
    widening: float = Field(
        default=1.3, ge=1e-2, le=1e2, description="Variance about clusters that is drawn over what was released, which clipping narrowed."
    )

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_clusters <= 0:
            raise ValueError("Expected the shares of sums, second moment and spreads below 1 together: the clusters have the rest")
        return self

    @property
    def share_of_clusters(self) -> float:
        """What the other releases leave."""
        return 1.0 - self.share_of_sums - self.share_of_second_moment - self.share_of_spreads

    def coarse_shape(self, facts: DatasetFacts) -> tuple[int, int, int]:
        """(C, rows, columns): the frequencies of an image that are looked at."""
        channels, height, width = facts.shape
        return channels, min(self.frequencies, height), min(self.frequencies, width)

    def dimensions(self, facts: DatasetFacts) -> int:
        """Numbers of an image as it is looked at: coarse cosines, and its frame where it is brought to a standard one."""
        return math.prod(self.coarse_shape(facts)) + frames.NUMBERS * self.moment_normalisation

    def used_directions(self, facts: DatasetFacts) -> int:
        """Directions that images are drawn in: no more than there are numbers."""
        return min(self.directions, self.dimensions(facts))

    def directions_of_groups(self, facts: DatasetFacts) -> int:
        """Directions of a group's covariance: no more than images are drawn in."""
        return min(self.group_directions, self.used_directions(facts))


class ClusterMomentsConfig(Mixtures):
    """Hyper-parameters of cluster moments."""

    labels: LabelShares = LabelShares()


ConfigT = TypeVar("ConfigT", bound=Mixtures)
SHARES = {"share_of_sums", "share_of_second_moment", "share_of_spreads"}
RELEASED = ("class_sums", "second_moment", "centres", "about", "cluster_sums", "spreads")
SUMS, SECOND_MOMENT, CLUSTERS, SPREADS = "class sums", "second moment", "cluster sums", "class spreads"
REASONS = {
    SUMS: "A record adds its clipped image and a one, together of norm at most 1, to the sum of its class: making it null moves the sums "
    "by at most 1. Replaced in its class the ones cancel and two images may be opposite; in another class the two parts are orthogonal.",
    SECOND_MOMENT: "A record adds the outer product of its clipped difference from its class's noisy mean with itself, of Frobenius "
    "norm at most C^2; two of them have no negative inner product, so replacing one moves the sum by at most sqrt(2) C^2.",
    CLUSTERS: "A record adds its clipped difference from the nearest centre of its class and a one, together of norm at most 1, to the sum "
    "of that centre; centres follow from what was released before: making it null moves the sums by at most 1, replacing it by as much as "
    "the sums by class.",
    SPREADS: "A record adds the squares of its clipped difference from its cluster's mean, or the outer product of that difference with "
    "itself and a one to the sums of its cluster's group: of norm at most 1, and no two have a negative inner product. Made null it moves "
    "the sums by at most 1, replaced, label and all, by at most sqrt(2).",
}


def multiplier(config: Mixtures, name: str) -> float:
    """Noise of a release over the distance of a record made null: all of them together are one Gaussian of the configured multiplier."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    shares = {
        SUMS: config.share_of_sums,
        SECOND_MOMENT: config.share_of_second_moment,
        CLUSTERS: config.share_of_clusters / config.rounds,
        SPREADS: config.share_of_spreads,
    }
    return config.noise_multiplier / math.sqrt(shares[name])


def replacement_factor(config: Mixtures, name: str) -> float:
    """How far replacing one record moves a release, over the distance of a record made null."""
    opposite = 2 * math.sqrt(1 - config.share_of_counts) if name in (SUMS, CLUSTERS) else 0.0
    return max(math.sqrt(2), opposite)


def stages_of(config: Mixtures) -> list[Stage]:
    """Sums by class, the second moment of all classes together, sums by cluster in each round, and spreads."""
    return [_stage(config, name) for name in REASONS]


def _stage(config: Mixtures, name: str) -> Stage:
    distance = replacement_factor(config, name)
    in_rounds = name == CLUSTERS
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(multiplier(config, name) / distance, zero_out_ratio=1 / distance),
        spent="per_step" if in_rounds else "once",
        steps=config.rounds if in_rounds else 1,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records in every round" if in_rounds else "all records, once",
        reason=REASONS[name],
    )


RECORDS_OF_A_CLUSTER = 100
MOST_NUMBERS = 588  # of an image, however many channels it has
LITTLE_NOISE = 5_000.0  # mu times the records of a class, from which finer clusters and more directions rise above the noise
SIGNAL = 1.5  # numbers of an image to the power 3/2, over mu times the records a channel, from which noise in the second moment takes over
FINE_RECORDS_OF_A_CLUSTER, FINE_NUMBERS = 55, 1_200
FINE: dict[str, Any] = {
    "clusters": 100,
    "frequencies": 20,
    "rounds": 4,
    "groups": 10,
    "share_of_sums": 0.05,
    "share_of_second_moment": 0.15,
    "share_of_spreads": 0.5,
    "max_difference": 0.28,
    "reach": 1.5,
}


class ClusterMoments(Method):
    """Noisy sums by class and cluster in the directions of one noisy second moment; images drawn from a mixture for each class."""

    name = "cluster-moments"
    title = "Cluster moments"
    source = "the workbench's own: a mixture of Gaussians for each class, by noisy moments on coarse cosines"
    Config = ClusterMomentsConfig
    implementation = "workbench.methods.cluster_moments.training"
    released: ClassVar[tuple[str, ...]] = RELEASED
    shapes: ClassVar[tuple[str, ...] | None] = ("frequencies", "directions", "clusters", "moment_normalisation")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    sampling_fields: ClassVar[tuple[str, ...]] = ("labels",)
    config: ClusterMomentsConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Fewer clusters of fewer records, and fewer frequencies of more channels."""
        return defaults(facts)

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """Finer where epsilon and the number of records leave little noise, coarser where they leave much."""
        assert isinstance(config, ClusterMomentsConfig)
        return adapted(config, facts, epsilon, delta, given)

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the noisy counts, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The four releases."""
        return stages_of(self.config)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, for images that nobody drew beforehand: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """Fewer clusters of fewer records, and fewer frequencies of more channels."""
    usual = {name: Mixtures.model_fields[name].default for name in ("clusters", "frequencies", "rounds")}
    return _within(usual, facts, RECORDS_OF_A_CLUSTER, MOST_NUMBERS)


def has_little_noise(facts: DatasetFacts, epsilon: float, delta: float) -> bool:
    """Whether finer clusters and more directions rise above the noise."""
    return gdp_mu(epsilon, delta) * facts.num_records / max(facts.num_classes, 1) >= LITTLE_NOISE


def adapted(config: ConfigT, facts: DatasetFacts, epsilon: float, delta: float, given: Set[str]) -> tuple[ConfigT, str]:
    """Finer where epsilon and the number of records leave little noise, coarser where they leave much, and in words what was changed."""
    if not has_little_noise(facts, epsilon, delta):
        return _coarser(config, facts, frequencies_above_noise(facts, epsilon, delta), given)
    finer = {name: value for name, value in _within(FINE, facts, FINE_RECORDS_OF_A_CLUSTER, FINE_NUMBERS).items() if name not in given}
    if given & SHARES:  # the given ones may leave too little for the others
        finer = {name: value for name, value in finer.items() if name not in SHARES}
    listed = ", ".join(f"{name} {value:g}" for name, value in finer.items())
    return with_values(config, finer), f"Finer than usual, as epsilon {epsilon:g} leaves little noise on so many records: {listed}."


def frequencies_above_noise(facts: DatasetFacts, epsilon: float, delta: float) -> int:
    """How many of the coarsest frequencies of each side leave the variance that noise gives below that of records.

    What noise alone adds to the second moment's positive eigenvalues grows as the numbers of an image to the power 3/2. Channels say much
    the same, so that of C channels only a C-th of the records is counted on.
    """
    signal = gdp_mu(epsilon, delta) * facts.num_records
    return max(1, math.isqrt(int((SIGNAL * signal / facts.shape[0]) ** (2 / 3)) // facts.shape[0]))


def _coarser(config: ConfigT, facts: DatasetFacts, frequencies: int, given: Set[str]) -> tuple[ConfigT, str]:
    """At most so many frequencies, of the images' sides."""
    if frequencies >= min(config.frequencies, max(facts.shape[1:])) or "frequencies" in given:
        return config, ""
    changed = with_values(config, {"frequencies": frequencies})

    note = (
        f"Coarser than usual, as epsilon and so few records leave much noise: frequencies {frequencies} in place of {config.frequencies}."
    )
    return changed, note


def _within(values: dict[str, Any], facts: DatasetFacts, records: int, numbers: int) -> dict[str, Any]:
    """The values with clusters of so many records on average or more, images of at most so many numbers, and one cluster in one round."""
    clusters = max(1, facts.num_records // (records * max(facts.num_classes, 1)))
    frequencies = max(1, math.isqrt(numbers // facts.shape[0]))
    fewer = {"clusters": min(values["clusters"], clusters), "frequencies": min(values["frequencies"], frequencies)}
    return values | fewer | ({"rounds": 1} if clusters == 1 else {})
