"""What a comparison asks: between which lines, in which measure, a difference is expected, and who says so."""

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Direction(BaseModel):
    """The expectation that a measure is higher over some lines than over others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: str = Field(min_length=1, description="The expectation in words.")
    source: str = Field(min_length=1, description="Who says so: a paper with its table, figure or section, or what it follows from.")
    stated_by: Literal["paper", "us"] = Field(default="paper", description="Whether the paper says it, or we expect it.")
    measure: str = Field(description="The measure that differs.")
    higher: tuple[str, ...] = Field(min_length=1, description="Lines over whose mean the measure is expected to be higher.")
    lower: tuple[str, ...] = Field(min_length=1, description="Lines over whose mean it is expected to be lower.")

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line that is looked at."""
        return self.higher + self.lower


class Picture(BaseModel):
    """A picture of one measure against another, a point a line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    across: str = Field(description="The measure on the horizontal axis.")
    up: str = Field(description="The measure on the vertical axis.")


class Comparison(BaseModel):
    """A question, and what is expected of the lines."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = Field(min_length=1, description="What the runs are to answer.")
    directions: tuple[Direction, ...] = Field(min_length=1)
    shown: tuple[str, ...] = Field(default=(), description="Further measures that its table shows beside those of the directions.")
    picture: Picture | None = None

    @property
    def lines(self) -> frozenset[str]:
        """The names of all lines that a direction looks at."""
        return frozenset(name for direction in self.directions for name in direction.lines)

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that its table shows."""
        return tuple(dict.fromkeys([*self._looked_at(), *self.shown]))

    def pooled_lines(self, measure: str) -> tuple[str, ...]:
        """The lines that some direction compares in `measure`."""
        return tuple(dict.fromkeys(name for direction in self.directions if direction.measure == measure for name in direction.lines))

    def _looked_at(self) -> Iterator[str]:
        return (direction.measure for direction in self.directions)
