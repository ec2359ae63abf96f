"""Hyper-parameters of class moments."""

import math
from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import LabelShares
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
