"""Structural zeros of a distribution of columns: the declared rules, as the model of a table has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch

from workbench.datasets.base import DatasetFacts
from workbench.models.graphical.junction_tree import Columns, cells_of
from workbench.records import TableKind
from workbench.training.marginals import sizes_of

MOST_CELLS = 100_000  # of a rule's columns together: a rule of more is left to what draws rows again


@dataclass(frozen=True)
class Zeros:
    """Combinations without probability: of each of `columns`, rising, these values."""

    columns: Columns
    values: tuple[tuple[int, ...], ...]

    def mask(self, sizes: Sequence[int]) -> torch.Tensor:
        """Which combinations of the columns they are, bool (sizes of the columns)."""
        chosen = [
            torch.isin(torch.arange(sizes[column]), torch.tensor(values)) for column, values in zip(self.columns, self.values, strict=True)
        ]
        return reduce(lambda one, other: one[..., None] & other, chosen)


def zeros_of(facts: DatasetFacts) -> tuple[Zeros, ...]:
    """Of the rules between columns that fit in a table, the class the last column."""
    kind, sizes = TableKind.of(facts.kind), sizes_of(facts)
    places = {name: place for place, name in enumerate([*(column.name for column in kind.columns), kind.label])}
    every = []
    for rule in kind.never:
        columns, values = zip(*sorted((places[name], values) for name, values in zip(rule.columns, rule.values, strict=True)), strict=True)
        if columns[-1] < len(sizes) and cells_of(sizes, columns) <= MOST_CELLS:
            every.append(Zeros(columns, values))
    return tuple(every)
