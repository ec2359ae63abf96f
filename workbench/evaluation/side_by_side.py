"""Two sets of rows side by side: the shares of each column's categories, and how much each pair of columns has to do with another."""

from itertools import combinations

import numpy as np
import pandas as pd

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.tables import cramers_v
from workbench.records import Records, TableKind

MOST_ROWS = 20_000  # whose pairs are counted: of more, the first
MOST_CATEGORIES = 40  # of a column that are told: of more, the most frequent ones


def shares(samples: Records, others: Records | None, facts: DatasetFacts) -> dict[str, pd.DataFrame]:
    """Of each column, the class too, a row a category in the declared order: `category`, `samples`, and `real` where there are others."""
    kind = TableKind.of(facts.kind)
    listed = kind.listed(samples, facts.classes)
    real = [None] * len(listed) if others is None else [values for _, values in kind.listed(others, facts.classes)]
    found = dict[str, pd.DataFrame]()
    for (column, values), theirs in zip(listed, real, strict=True):
        size = len(column.categories)
        parts = {"samples": values} | ({} if theirs is None else {"real": theirs})
        counted = {name: np.bincount(part, minlength=size) / len(part) for name, part in parts.items()}
        frame = pd.DataFrame({"category": column.categories, **counted})
        order = np.argsort(-frame.drop(columns="category").max(axis=1).to_numpy(), kind="stable")[:MOST_CATEGORIES]
        found[column.name] = frame.iloc[np.sort(order)]
    return found


def associations(records: Records, facts: DatasetFacts) -> pd.DataFrame:
    """Cramer's V of every two columns, the class too: a row and a column each, by name, 1 on the diagonal."""
    listed = TableKind.of(facts.kind).listed(records.take(slice(MOST_ROWS)), facts.classes)
    names = [column.name for column, _ in listed]
    found = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
    for one, other in combinations(range(len(listed)), 2):
        (first, left), (second, right) = listed[one], listed[other]
        shape = len(first.categories), len(second.categories)
        joint = np.bincount(left * shape[1] + right, minlength=shape[0] * shape[1]).reshape(shape) / len(left)
        found.iloc[one, other] = found.iloc[other, one] = cramers_v(joint)
    return found
