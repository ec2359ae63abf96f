"""Rows as places between which there are distances, and their variations."""

from collections.abc import Sequence

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.records import Column, TableKind
from workbench.training.marginals import drawn
from workbench.training.streams import Stream


def columns_of(facts: DatasetFacts) -> tuple[Column, ...]:
    """The columns without the label's."""
    return TableKind.of(facts.kind).columns


def coordinates(column: Column, category_weight: float) -> np.ndarray:
    """Where each category stands, float32 (categories, width): ranges evenly from 0 to 1; others apart by a one of that weight.

    The paper has numbers as they are, between the least and the greatest. Here they are ranges, declared to be narrow where much lies, or
    where a value means something of its own: they count as equally wide, so that a 0 of dollars is told from a few.
    """
    beside = len(column.categories) - column.num_ranges
    place = np.zeros((len(column.categories), bool(column.edges) + beside), dtype=np.float32)
    place[column.num_ranges :, bool(column.edges) :] = category_weight * np.eye(beside)
    if column.edges:
        place[:, 0] = 0.5
        place[: column.num_ranges, 0] = (np.arange(column.num_ranges) + 0.5) / column.num_ranges
    return place


def places(columns: Sequence[Column], category_weight: float, rows: np.ndarray) -> np.ndarray:
    """Of rows (N, at least as many columns), float32 (N, all widths)."""
    return np.concatenate([coordinates(column, category_weight)[rows[:, number]] for number, column in enumerate(columns)], axis=1)


def transitions(column: Column, rate: float) -> np.ndarray:
    """With which chance each category becomes which, float64 (categories, categories).

    A category is redrawn evenly with the chance `rate`. A number lies anywhere in its range, moves by an even draw of at most `rate`
    times all ranges together, and is cut to these; it becomes one of the categories beside them as any category does.
    """
    size, ranges = len(column.categories), column.num_ranges
    found = (1 - rate) * np.eye(size) + rate / size
    if ranges:
        found[:ranges, :ranges] = (1 - rate * (size - ranges) / size) * moved(ranges, rate * ranges)
    return found


def moved(ranges: int, reach: float) -> np.ndarray:
    """With which chance a number anywhere in a range of width 1 is in which one after an even move of at most `reach` > 0."""
    ends = np.arange(ranges + 1.0) - np.arange(ranges)[:, None]  # of all ranges, from the beginning of a number's own
    lowest, highest = ends + reach, ends + reach - 1  # above 0, so far the moves of numbers from there reach below an end
    below = (_ramp(lowest, 2 * reach) - _ramp(highest, 2 * reach)) / (2 * reach)
    below[:, 0], below[:, -1] = 0, 1
    return np.diff(below, axis=1)


def _ramp(value: np.ndarray, top: float) -> np.ndarray:
    """The integral from 0 to `value` of what rises evenly to `top` and stays there."""
    return np.where(value < top, np.square(np.maximum(value, 0)) / 2, top * value - top**2 / 2)


def varied(columns: Sequence[Column], rate: float, rows: np.ndarray, draw: Stream) -> np.ndarray:
    """Each row (N, columns and the label) once, another one; labels stay."""
    found = rows.copy()
    for number, column in enumerate(columns):
        found[:, number] = drawn(transitions(column, rate)[rows[:, number]], draw.random(len(rows)))
    return found
