"""Rules between the columns of a table: categories that never stand together in a row. They are declared, public, and no one's."""

from collections.abc import Mapping
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Rule(BaseModel):
    """A row in which each of `columns` has one of its `values`, positions of categories, is impossible: a structural zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...] = Field(min_length=2)
    values: tuple[tuple[int, ...], ...]

    @model_validator(mode="after")
    def _has_values_of_each_column(self) -> Self:
        if len(self.values) != len(self.columns) or not all(self.values) or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"Expected values of each of different columns, got {self.values} of {', '.join(self.columns)}.")
        return self

    def rows_breaking(self, cells: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which rows break it, bool (N,), from the columns' values by name, int64 (N,) each."""
        return np.logical_and.reduce([np.isin(cells[name], values) for name, values in zip(self.columns, self.values, strict=True)])
