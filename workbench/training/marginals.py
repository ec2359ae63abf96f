"""Marginals of a table: how often each category, or pair of categories, occurs. The label is one column more, the last."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records, TableKind
from workbench.training.grid import Grid

Pair = tuple[int, int]  # of columns, the smaller number first


def sizes_of(facts: DatasetFacts) -> tuple[int, ...]:
    """Number of categories of each column, the label's last where there are classes."""
    return TableKind.of(facts.kind).categories + ((facts.num_classes,) if facts.num_classes else ())


def all_pairs(facts: DatasetFacts) -> list[Pair]:
    """Every pair of columns."""
    return list(combinations(range(len(sizes_of(facts))), 2))


def present_rows(data: Records, facts: DatasetFacts) -> np.ndarray:
    """The rows that are present with their labels, int64 (present, columns)."""
    labels = [data.labels[:, None]] if facts.num_classes and data.labels is not None else []
    return np.concatenate([data.records, *labels], axis=1)[data.mask]


def one_way(rows: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Counts of every category, the columns one after another: int64 (sum of sizes,)."""
    return np.concatenate([np.bincount(column, minlength=size) for column, size in zip(rows.T, sizes, strict=True)])


def counts_of(rows: np.ndarray, sizes: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    """Counts of every combination of categories of some columns: int64 (their sizes)."""
    shape = tuple(sizes[column] for column in columns)
    return np.bincount(np.ravel_multi_index(rows[:, columns].T, shape), minlength=math.prod(shape)).reshape(shape)


def marginals_stage(name: str, noise_multiplier: float, cells: int) -> Stage:
    """A release of marginals with at most so many cells, its noise over the distance of a record made null."""
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
        spent="once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        reason="A record adds one to a cell of each marginal: making it null moves one count of each by 1, replacing it at most two.",
    )


def grid_of(marginals: int, noise_multiplier: float, facts: DatasetFacts) -> Grid:
    """Where counts of so many marginals are released: a record adds one to a cell of each, a vector of norm sqrt(marginals)."""
    norm = marginals**0.5
    return Grid(noise_multiplier * norm, norm, facts.num_records)


def in_steps(counts: np.ndarray, marginals: int, grid: Grid) -> np.ndarray:
    """Counts in steps of the grid, int64: each record adds what the grid makes of the ones in its cells."""
    one = int(grid.truncated(np.ones((1, marginals)))[0, 0])
    return counts.astype(np.int64) * one


def shares(noisy: np.ndarray, total: float) -> np.ndarray:
    """The shares nearest to noisy counts among those that are not negative and sum to 1: the same off all cells, the rest cut at 0."""
    flat = noisy.ravel() / total
    falling = np.sort(flat)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, flat.size + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    return np.maximum(flat - threshold, 0.0).reshape(noisy.shape)


def split_parts(flat: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """The parts of so many numbers each, in order."""
    return np.split(flat, np.cumsum(sizes)[:-1])


def drawn_categories(shares_of_rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """A category for each row of shares (N, categories), by a uniform number each: int64 (N,)."""
    ends = np.cumsum(shares_of_rows, axis=1)
    return np.minimum((uniform[:, None] * ends[:, -1:] >= ends).sum(axis=1), shares_of_rows.shape[1] - 1).astype(np.int64)
