"""Settings of what is released of columns before a model sees them. No torch."""

import math
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.training.switches import Switches

MOST_RANGES = 16


class Grouping(BaseModel):
    """What a model's columns are: the declared ones, or coarser ones by releases of their own, which the plan counts."""

    switches: ClassVar[Switches] = {"quantile_ranges": (0, 4), "most_categories": (0, 3)}

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    quantile_ranges: int = Field(
        default=0,
        ge=0,
        le=MOST_RANGES,
        description="Ranges (2, 4, 8 or 16) that each column of numbers with more declared ones is cut into, between quantiles released "
        "by the exponential mechanism; 0 keeps the declared ones.",
    )
    edge_noise: float = Field(
        default=4.0,
        ge=1e-3,
        le=1e6,
        description="What all edges together cost: as much as a Gaussian release with this noise over a null record's distance.",
    )
    most_categories: int = Field(
        default=0,
        ge=0,
        description="Categories kept in each column without ranges that has more declared ones: the most frequent by noisy counts. The "
        "rare ones are merged into one; 0 keeps all.",
    )
    count_noise: float = Field(
        default=4.0, ge=1e-3, le=1e6, description="Noise of these counts over how far one record made null moves them."
    )

    @model_validator(mode="after")
    def _is_halved(self) -> Self:
        if self.quantile_ranges == 1 or self.quantile_ranges & (self.quantile_ranges - 1):
            raise ValueError(
                f"Expected quantile_ranges of 0, 2, 4, 8 or 16, as each range is cut at its median, got {self.quantile_ranges}"
            )
        return self

    @property
    def levels(self) -> int:
        """How often each range of a column is halved."""
        return max(self.quantile_ranges.bit_length() - 1, 0)

    def edges_epsilon(self, steps: int) -> float:
        """Pure epsilon of each of so many steps for a record made null: of range e it counts as a Gaussian release of mu e / 2."""
        return 2.0 / (self.edge_noise * math.sqrt(steps))
