"""What a declaration leaves of a table's columns, and what noise does to them at an epsilon: private, for whoever has the rows."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.datasets import csv_table
from workbench.datasets.base import DatasetFacts
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration, number
from workbench.datasets.row_files import text_counts, text_rows
from workbench.methods.independent_marginals import IndependentMarginals
from workbench.planning import make_plan
from workbench.records import TableKind
from workbench.training.marginals import grid_of, sizes_of

PRIVATE = "This is made from the private rows, for the eyes of those who have them: change the declaration by it, and do not share it."
NOISE = (
    "Noise: the total variation distance that noise alone puts between a column's true shares and released ones, on average, where each "
    "column is counted once at that epsilon and nothing else is released; a method that releases more leaves more."
)


class Survival(NamedTuple):
    """Of a column: bits (Shannon's entropy) as declared and in the file; the share of the variance of its numbers' ranks that is left.

    `order` is None of a column without two different numbers, or that is not declared by ranges.
    """

    bits: float
    of_bits: float
    order: float | None


def report(path: Path, declared: TableDeclaration, epsilon: float) -> list[dict[str, Any]]:
    """A row a declared column of a file: its categories, what survives, and the noise on its shares at `epsilon`; all of it private."""
    noise = noise_shares(csv_table.facts(path, path.stem, declared), epsilon)
    texts, _ = text_counts(*text_rows(path))
    rows = []
    for column in declared.columns:
        outcome = survival(column, texts[column.name], path.name)
        row = {"column": column.name, "categories": len(column.column.categories), "bits": round(outcome.bits, 2)}
        order = None if outcome.order is None else round(outcome.order, 3)
        beside = {"bits in the file": round(outcome.of_bits, 2), "order kept": order, "noise": round(noise[column.name], 4)}
        rows.append(row | beside)
    return rows


def survival(column: DeclaredColumn, texts: Mapping[str, int], where: str) -> Survival:
    """What the declared categories leave of a column whose texts occur so often."""
    names, counts = list(texts), np.array(list(texts.values()), dtype=np.float64)
    groups = column.category_numbers(names, where)
    declared = np.bincount(groups, weights=counts)
    values = np.array([math.nan if (value := number(name)) is None else value for name in names])
    is_number = ~np.isnan(values)
    order = order_kept(values[is_number], counts[is_number], groups[is_number]) if column.edges else None
    return Survival(entropy(declared), entropy(counts), order)


def entropy(counts: np.ndarray) -> float:
    """Shannon's entropy in bits of what occurs so often."""
    shares = counts[counts > 0] / counts.sum()
    return max(float(-(shares * np.log2(shares)).sum()), 0.0)


def order_kept(values: np.ndarray, counts: np.ndarray, groups: np.ndarray) -> float | None:
    """The share of the variance of ranks (ties have their mean rank) that lies between groups; None where all numbers are the same."""
    merged = Counter[float]()
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        merged[value] += count
    rising = sorted(merged)
    ends = np.cumsum([merged[value] for value in rising])
    rank_of = dict(zip(rising, ends - np.array([merged[value] for value in rising]) / 2, strict=True))
    ranks = np.array([rank_of[value] for value in values.tolist()])
    if len(rising) < 2:
        return None
    mean = float(np.average(ranks, weights=counts))
    total = float((counts * (ranks - mean) ** 2).sum())
    sizes, sums = np.bincount(groups, weights=counts), np.bincount(groups, weights=counts * (ranks - mean))
    return float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum()) / total


def noise_shares(facts: DatasetFacts, epsilon: float) -> dict[str, float]:
    """Of each column, the target last: half the sum over its cells of the noise's mean size, over the number of rows; 1 at most."""
    plan = make_plan(IndependentMarginals.name, facts, epsilon=epsilon)
    sizes = sizes_of(facts)
    deviation = grid_of(len(sizes), plan.config["noise_multiplier"], facts).deviation
    names = [column.name for column in TableKind.of(facts.kind).columns]
    names += [TableKind.of(facts.kind).label] * (len(sizes) > len(names))
    mean_size = deviation * math.sqrt(2 / math.pi)
    return {name: min(size * mean_size / (2 * facts.num_records), 1.0) for name, size in zip(names, sizes, strict=True)}
