"""Hyper-parameters of AIM."""

import math
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from workbench.errors import WorkbenchError
from workbench.methods.grouped_columns import GroupedConfig
from workbench.models.graphical.workloads import EXAMPLE
from workbench.training.switches import Switches


class AIMConfig(GroupedConfig):
    """Hyper-parameters of AIM."""

    switches: ClassVar[Switches] = {"rounds": (0, 2), "sets": ("", "column 1+column 2: 3; column 1+column 2+column 3")}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over how far one record made null moves them; "
        "empty calibrates it.",
    )  # fmt: skip
    share_of_one_way: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the squared budget that single columns have.")
    share_of_choice: float = Field(
        default=0.1, ge=1e-4, le=0.9999, description="Part of the choices of marginals; the marginals have the rest."
    )
    rounds: int = Field(
        default=0, ge=0, le=1_000, description="Choices of a marginal, each followed by its release; 0 takes two for each column."
    )
    workload: Literal["pairs", "triples"] = Field(
        default="pairs", description="What is to come out right: all pairs of columns or all triples. These and their parts may be chosen."
    )
    target_weight: float = Field(
        default=2.0, ge=1, le=100, description="How many times as much a set of the workload counts that has the label, if there is one."
    )
    sets: str = Field(
        default="", max_length=10_000, description="In the place of workload and target_weight: what is to come out right by name, and how "
        f"much each set counts, as {EXAMPLE}.",
    )  # fmt: skip
    most_cells: int = Field(
        default=2**18, ge=1, le=2**26, description="Cells of the largest graphical model, in its junction tree. Earlier rounds may fill "
        "their part of it.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_marginals <= 0:
            raise ValueError("Expected share_of_one_way and share_of_choice below 1 together: the marginals have the rest")
        return self

    @property
    def share_of_marginals(self) -> float:
        """What the other two leave."""
        return 1.0 - self.share_of_one_way - self.share_of_choice

    def num_rounds(self, columns: int) -> int:
        """Rounds on a table of so many columns, the label one of them."""
        return self.rounds or 2 * columns

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
