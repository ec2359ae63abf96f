"""From which time steps a record's losses come: a mixture of uniform distributions over intervals."""

from itertools import pairwise
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.errors import WorkbenchError


class TimestepMixture(BaseModel):
    """Intervals of time steps and how much of training each gets (Ghalebikesabi et al. 2023, section 3.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ends: tuple[float, ...] = Field(
        default=(0.03, 0.6, 1.0), min_length=1, description="Where each interval of time steps ends, as a share of all of them."
    )
    weights: tuple[float, ...] = Field(
        default=(0.015, 0.785, 0.2), min_length=1, description="Share of draws from each interval; all of them come to 1."
    )

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        if len(self.weights) != len(self.ends):
            raise ValueError(f"Expected a weight for each of {len(self.ends)} intervals of time steps, got {len(self.weights)}.")
        if min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9:
            raise ValueError(f"Expected weights of at least 0 that come to 1, got {self.weights}.")
        if self.ends[-1] != 1 or any(end <= start for start, end in pairwise((0.0, *self.ends))):
            raise ValueError(f"Expected rising ends of intervals in (0, 1], the last of them 1, got {self.ends}.")
        return self

    def probabilities(self, timesteps: int) -> np.ndarray:
        """The probability of each time step 1..T, float64 (T,): weight w_i spread evenly over its interval (l_i, l_{i+1}].

        Refuses an interval that holds no time step.
        """
        bounds = [0, *(round(end * timesteps) for end in self.ends)]
        if any(end <= start for start, end in pairwise(bounds)):
            raise WorkbenchError(f"Expected a time step in every interval, but {self.ends} of {timesteps} time steps leave one empty.")
        lengths = np.diff(bounds)
        return np.repeat(np.array(self.weights) / lengths, lengths)
