"""Hyper-parameters of Tab-PE."""

import math
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from workbench.errors import WorkbenchError
from workbench.methods.grouped_columns import GroupedConfig
from workbench.training.switches import Switches


def _share_or_none(value: float) -> float:
    if 0 < value < 1e-4:
        raise ValueError("Expected 0, which releases no columns, or at least 1e-4")
    return value


class TabPEConfig(GroupedConfig):
    """Hyper-parameters of Tab-PE."""

    switches: ClassVar[Switches] = {"share_of_columns": (0.0, 0.1)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of each round's votes, over the one vote of a record; empty calibrates it."
    )
    share_of_columns: Annotated[float, AfterValidator(_share_or_none)] = Field(
        default=0.1, ge=0, le=0.9999, description="Part of the squared budget that counts of columns within each class have: samples are "
        "fitted to these. 0, as in the paper, releases none.",
    )  # fmt: skip
    rounds: int = Field(default=30, ge=1, le=1_000, description="How often all records vote.")
    records: int = Field(default=1_000, ge=1, le=100_000, description="Rows that a round leaves, as many of one class as of another.")
    drawn_rounds: int = Field(
        default=5,
        ge=0,
        description="So many rounds at first draw rows by their votes and vary each once; later ones keep the most voted for.",
    )
    variations: int = Field(default=3, ge=1, le=20, description="Variations of each row that a later round keeps, which stand beside it.")
    category_weight: float = Field(
        default=1 / 3, ge=1e-3, le=10, description="Length of a category's one among numbers between 0 and 1, to find the nearest row by."
    )
    first_rate: float = Field(default=0.5, ge=1e-3, le=1, description="How far the first variations go; see last_rate.")
    last_rate: float = Field(
        default=0.01, ge=1e-3, le=1, description="How far the last ones go: the chance that a category is redrawn, and the most "
        "that a number moves, as a part of all its ranges.",
    )  # fmt: skip
    rate_power: float = Field(
        default=0.2, ge=1e-2, le=10, description="Power of the part of the rounds that is done, by which the rate falls."
    )

    def known_noise_multiplier(self) -> float:
        """The noise multiplier, which must have been given or found."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def squared_budget(self) -> float:
        """One over the squared noise of all releases together, over how far one record made null moves them."""
        return self.rounds * self.known_noise_multiplier() ** -2 / (1.0 - self.share_of_columns)

    def noise_of_columns(self) -> float:
        """Noise of the counts of columns, over how far one record made null moves them; their share is not 0."""
        return 1.0 / math.sqrt(self.share_of_columns * self.squared_budget())

    def rate(self, round_: int) -> float:
        """How far variations go after so many rounds."""
        return self.first_rate - (self.first_rate - self.last_rate) * (round_ / self.rounds) ** self.rate_power
