"""The sample that is nearest to each of some rows of a table, by Gower's distance (1971) over some of the columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

FINENESS = 1_024  # parts of 1 that distances are rounded to, so that sums are exact and ties are ties
MOST_CELLS = 4_000_000  # of one block of samples, one-hot


class Columns(NamedTuple):
    """Of each column: its number of categories, and how many of them, the first, have an order: ranges, before what is no number."""

    sizes: tuple[int, ...]
    ordered: tuple[int, ...]


def nearest(rows: np.ndarray, samples: np.ndarray, columns: Columns, over: Sequence[int]) -> np.ndarray:
    """The place (N,) of the sample nearest to each row, of several the first; rows (N, columns) and samples (M, columns) are int64.

    Categories differ by 0 or 1, ranges by their share of the way from the first to the last; `over` are the columns that count.
    """
    tables = [_differences(columns.sizes[column], columns.ordered[column]) for column in over]
    of_rows = np.concatenate([table[rows[:, column]] for table, column in zip(tables, over, strict=True)], axis=1)
    starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
    best, place = np.full(len(rows), np.inf, dtype=np.float32), np.zeros(len(rows), dtype=np.int64)
    block = max(1, MOST_CELLS // of_rows.shape[1])
    for start in range(0, len(samples), block):
        chosen = samples[start : start + block, list(over)]
        one_hot = np.zeros((of_rows.shape[1], len(chosen)), dtype=np.float32)
        one_hot[chosen + starts, np.arange(len(chosen))[:, None]] = 1.0
        distances = of_rows @ one_hot
        positions = distances.argmin(axis=1)
        value = distances[np.arange(len(rows)), positions]
        nearer = value < best
        best[nearer], place[nearer] = value[nearer], start + positions[nearer]
    return place


def _differences(size: int, ordered: int) -> np.ndarray:
    """How far each category is from each, float32 (size, size)."""
    apart = 1 - np.eye(size, dtype=np.float32)
    steps = np.abs(np.subtract.outer(np.arange(ordered), np.arange(ordered))) / max(ordered - 1, 1)
    apart[:ordered, :ordered] = np.round(steps * FINENESS) / FINENESS
    return apart
