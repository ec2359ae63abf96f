"""Two sets of rows side by side: each column's shares, what pairs of columns have to do with each other, and how far each is off."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.cells import by_column, sets_of, table_of, variation_of
from workbench.evaluation.tables import cramers_v
from workbench.records import Records, TableKind

MOST_ROWS = 20_000  # whose pairs are counted: of more, the first
MOST_CATEGORIES = 40  # of a column that are told: of more, the most frequent ones


def shares(samples: Records, others: Records | None, facts: DatasetFacts) -> dict[str, pd.DataFrame]:
    """Of each column, the class too, a row a category in the declared order: `category`, `samples`, and `real` where there are others."""
    kind = TableKind.of(facts.kind)
    listed = kind.written_columns(samples, facts.classes)
    real = [None] * len(listed) if others is None else [values for _, values in kind.written_columns(others, facts.classes)]
    frames = dict[str, pd.DataFrame]()
    for (column, values), theirs in zip(listed, real, strict=True):
        size = len(column.categories)
        parts = {"samples": values} | ({} if theirs is None else {"real": theirs})
        counted = {name: np.bincount(part, minlength=size) / len(part) for name, part in parts.items()}
        frame = pd.DataFrame({"category": column.categories, **counted})
        order = np.argsort(-frame.drop(columns="category").max(axis=1).to_numpy(), kind="stable")[:MOST_CATEGORIES]
        frames[column.name] = frame.iloc[np.sort(order)]
    return frames


def associations(records: Records, facts: DatasetFacts) -> pd.DataFrame:
    """Cramer's V of every two columns, the class too: a row and a column each, by name, 1 on the diagonal."""
    listed = TableKind.of(facts.kind).written_columns(records.take(slice(MOST_ROWS)), facts.classes)
    names = [column.name for column, _ in listed]
    matrix = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    for one, other in combinations(range(len(listed)), 2):
        (first, left), (second, right) = listed[one], listed[other]
        shape = len(first.categories), len(second.categories)
        joint = np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape) / len(left)
        matrix.iloc[one, other] = matrix.iloc[other, one] = cramers_v(joint)
    return matrix


class Apart(NamedTuple):
    """Total variation distances between two sets of rows, the target first.

    `columns` has a row a column: its name (`column`), its distance `alone`, and the mean of the `pairs` and of the `triples` that it is
    in (a drawn part of these where there are many). `pairs` has a row and a column each, by name; a column alone on the diagonal.
    """

    columns: pd.DataFrame
    pairs: pd.DataFrame

    @property
    def worst(self) -> tuple[str, float]:
        """The column that is farthest off alone, and how far."""
        place = int(self.columns["alone"].to_numpy().argmax())
        return str(self.columns["column"].iloc[place]), float(self.columns["alone"].iloc[place])


def apart(samples: Records, others: Records, facts: DatasetFacts) -> Apart:
    """How far the columns of the first rows of two sets are apart, alone and together."""
    labelled = samples.labels is not None
    ones, theirs = (table_of(part.take(slice(MOST_ROWS)), facts, labelled) for part in (samples, others))
    number, draw = len(ones.names), np.random.default_rng(0)
    alone = np.array([variation_of(ones, theirs, [column]) for column in range(number)])
    table = np.diag(alone)
    for pair in combinations(range(number), 2):
        table[pair] = table[pair[::-1]] = variation_of(ones, theirs, pair)
    triples = sets_of(number, 3, draw)
    of_triples = by_column(triples, np.array([variation_of(ones, theirs, triple) for triple in triples]), number)
    of_pairs = (table.sum(axis=1) - alone) / max(number - 1, 1)
    columns = pd.DataFrame({"column": ones.names, "alone": alone, "pairs": of_pairs, "triples": of_triples})
    return Apart(columns, pd.DataFrame(table, index=list(ones.names), columns=list(ones.names)))
