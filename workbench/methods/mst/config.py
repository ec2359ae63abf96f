"""Hyper-parameters of MST."""

import math
from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.errors import WorkbenchError
from workbench.methods.grouped_columns import GroupedConfig
from workbench.models.graphical.workloads import EXAMPLE
from workbench.training.switches import Switches


class MSTConfig(GroupedConfig):
    """Hyper-parameters of MST."""

    switches: ClassVar[Switches] = {"sets": ("", "column 1+column 2: 3; column 1+column 2+column 3+class")}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over how far one record made null moves them; "
        "empty calibrates it.",
    )  # fmt: skip
    share_of_one_way: float = Field(default=1 / 3, ge=1e-4, le=0.9999, description="Part of the squared budget that single columns have.")
    share_of_choice: float = Field(
        default=1 / 3, ge=1e-4, le=0.9999, description="Part of the choice of pairs; their marginals have the rest."
    )

    target_weight: float = Field(
        default=1.0, ge=1, le=100, description="How many times as much a pair counts in the choice that has the label, if there is one."
    )
    sets: str = Field(
        default="", max_length=10_000, description="In the place of target_weight: sets of columns whose pairs are to be in the tree "
        f"first, and how much each counts, as {EXAMPLE}.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_two_way <= 0:
            raise ValueError("Expected share_of_one_way and share_of_choice below 1 together: the marginals of pairs have the rest")
        return self

    @property
    def share_of_two_way(self) -> float:
        """What the other two leave."""
        return 1.0 - self.share_of_one_way - self.share_of_choice

    def known_noise_multiplier(self) -> float:
        """The noise multiplier, which must have been given or found."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def noise_of(self, share: float) -> float:
        """Noise of a Gaussian release that has this share of the squared budget, over the distance of a record made null."""
        return self.known_noise_multiplier() / math.sqrt(share)

    def choice_epsilon(self, choices: int) -> float:
        """Pure epsilon of each of so many choices for a record made null: of range e it counts as a Gaussian release of mu e / 2."""
        return 2.0 * math.sqrt(self.share_of_choice / choices) / self.known_noise_multiplier()
