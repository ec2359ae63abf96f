"""Hyper-parameters of cluster moments."""

import math
from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import LabelShares
from workbench.training.switches import Switches


class ClusterMomentsConfig(MethodConfig):
    """Hyper-parameters of cluster moments; pixels are in [0, 1], and a norm is over that of a white image."""

    switches: ClassVar[Switches] = {"rounds": (1, 2), "share_of_counts": (0.2, 0.9)}  # from .5 on two images move less than two ones

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over the norm of one record; empty calibrates it."
    )
    share_of_sums: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the squared budget that the sums by class have.")
    share_of_second_moment: float = Field(
        default=0.3, ge=1e-4, le=0.9999, description="Part of the second moment, whose directions the clusters lie in."
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
    rounds: int = Field(default=1, ge=1, le=100, description="How often the sums by cluster are released, each time about the last means.")
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

    labels: LabelShares = LabelShares()

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
        """Numbers of an image as it is looked at."""
        return math.prod(self.coarse_shape(facts))

    def used_directions(self, facts: DatasetFacts) -> int:
        """Directions that images are drawn in: no more than there are numbers."""
        return min(self.directions, self.dimensions(facts))
