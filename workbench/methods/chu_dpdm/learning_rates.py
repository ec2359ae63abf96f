"""The four learning-rate schedules of Chu et al. 2023, section IV.A, by epoch."""

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Decay = Literal["none", "linear", "exponential", "logarithmic"]


class LearningRateDecay(BaseModel):
    """How the learning rate falls from epoch to epoch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Decay = Field(default="none", description="none, linear lr'/(1+dr e), exponential lr0 dr^e, or logarithmic lr'/(1+dr ln e).")
    rate: float = Field(
        default=0.3, ge=1e-9, le=1, description="Decay rate dr; the paper's are .3 (linear), .99 (exponential), .002 (log)."
    )
    printed_logarithm: bool = Field(
        default=False, description="The logarithmic form as printed, lr'/(1+ln e), which has no decay rate although the table gives one."
    )

    def factor(self, epoch: int) -> float:
        """The learning rate of `epoch` 0, 1, .. over the first one's; lr' in the formulas is the rate of the epoch before."""
        if self.kind == "none":
            return 1.0
        if self.kind == "exponential":
            return self.rate**epoch
        return math.prod(1 / (1 + self._growth(passed)) for passed in range(1, epoch + 1))

    def _growth(self, epoch: int) -> float:
        if self.kind == "linear":
            return self.rate * epoch
        return (1.0 if self.printed_logarithm else self.rate) * math.log(epoch)
