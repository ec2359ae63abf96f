"""The three numbers: an epsilon is always a value with delta, status, accountant, relation, sampling and reason."""

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict

Target = Literal["bound", "claim"]  # which of two numbers an epsilon is asked of
Status = Literal["proved", "approximation", "not_proved", "refuted", "not_evaluated", "measured"]


class PrivacyValue(BaseModel):
    """One epsilon and everything it means.

    `proved`: an upper bound. `approximation`: a central-limit or other estimate, not a bound. `not_proved`: no proof is
    known, shown as infinity. `refuted`: the analysed release provably has no finite epsilon. `not_evaluated`: no formula.
    `measured`: a lower bound by an attack, at a confidence that the reason states.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    epsilon: float
    delta: float
    status: Status
    accountant: str = ""
    neighboring_relation: str = ""
    sampling: str = ""
    reason: str = ""
    source: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether a number can be shown at all."""
        return math.isfinite(self.epsilon)
