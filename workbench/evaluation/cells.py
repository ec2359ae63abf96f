"""Cells of tables, compared as samples are drawn: each single column, all pairs, all triples; the worst of them by name."""

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.context import Context, Measurement
from workbench.evaluation.intervals import normal
from workbench.evaluation.learners import labels_of
from workbench.records import Records, TableKind

MOST_SETS = 300  # of columns that are compared together: of more, so many drawn by the seed
MOST_CELLS = 1_000_000  # that are counted one by one: of more, only those that occur
RESAMPLES = 20
MOST_TOLD = 30
WAYS = dict(enumerate((f"{number}_way_marginals" for number in ("one", "two", "three", "four", "five")), start=1))


class Table(NamedTuple):
    """Rows with their class, int64 (N, columns), and of each column its categories' number and its name, the class first."""

    rows: np.ndarray
    sizes: tuple[int, ...]
    names: tuple[str, ...]


class CellDistances(NamedTuple):
    """Sets of columns and how far each is off (sets,), with the same of resamples of the samples (RESAMPLES, sets)."""

    sets: list[tuple[int, ...]]
    values: np.ndarray
    resampled: np.ndarray


def table_of(records: Records, facts: DatasetFacts, labelled: bool) -> Table:
    """The columns of records, their class before them where samples are labelled."""
    kind = TableKind.of(facts.kind)
    names = tuple(column.name for column in kind.columns)
    if not labelled or records.labels is None or not facts.classes:
        return Table(records.records, kind.categories, names)
    rows = np.concatenate([records.labels[:, None], records.records], axis=1)
    return Table(rows, (facts.num_classes, *kind.categories), (kind.label, *names))


def worst_column(samples: Records, context: Context) -> Measurement:
    """The largest total variation distance of a single column between samples and held-out records; the note tells each, target first."""
    result, names = cell_distances(samples, context, 1)
    worst = int(result.values.argmax())
    entries = [f"{names[column]} {value:.3f}" for (column,), value in zip(result.sets[:MOST_TOLD], result.values, strict=False)]
    note = f"Worst: {names[result.sets[worst][0]]}. Of each column: {', '.join(entries)}{' ..' * (len(result.sets) > MOST_TOLD)}."
    return _measurement(float(result.values[worst]), result.resampled.max(axis=1), context, note)


def target_share(samples: Records, context: Context) -> Measurement:
    """Total variation distance of the classes' shares between samples, as they are drawn, and held-out records."""
    result, _ = cell_distances(samples, context, 1)
    facts, records = context.dataset.facts, (samples, context.dataset.held_out)
    ones, others = (np.bincount(labels_of(part, facts.num_classes), minlength=facts.num_classes) / len(part) for part in records)
    entries = [f"{name} {one:.1%} and {other:.1%}" for name, one, other in zip(facts.classes[:MOST_TOLD], ones, others, strict=False)]
    note = f"Of samples and of held-out rows: {', '.join(entries)}{' ..' * (facts.num_classes > MOST_TOLD)}."
    return _measurement(float(result.values[0]), result.resampled[:, 0], context, note)


def three_way_marginals(samples: Records, context: Context) -> Measurement:
    """Mean total variation distance of the triples of categories of every three columns, the class one of them."""
    return _of_sets(samples, context, 3)


def four_way_marginals(samples: Records, context: Context) -> Measurement:
    """The same of every four columns."""
    return _of_sets(samples, context, 4)


def five_way_marginals(samples: Records, context: Context) -> Measurement:
    """The same of every five columns."""
    return _of_sets(samples, context, 5)


def _of_sets(samples: Records, context: Context, together: int) -> Measurement:
    result, names = cell_distances(samples, context, together)
    return _measurement(float(result.values.mean()), result.resampled.mean(axis=1), context, worst_of(result, names))


def worst_of(result: CellDistances, names: Sequence[str]) -> str:
    """The set of columns that is farthest off, in words, of how many sets it is the worst, and how far those with each column are off."""
    worst, means = int(result.values.argmax()), by_column(result.sets, result.values, len(names))
    entries = [f"{name} {value:.3f}" for name, value in zip(names[:MOST_TOLD], means.tolist(), strict=False)]
    return (
        f"Worst of {len(result.sets)}: {' x '.join(names[column] for column in result.sets[worst])} {result.values[worst]:.3f}. "
        f"Mean of those with each column: {', '.join(entries)}{' ..' * (len(names) > MOST_TOLD)}."
    )


def by_column(sets: Sequence[tuple[int, ...]], values: np.ndarray, columns: int) -> np.ndarray:
    """Of each column, the mean of the `values` (sets,) of the sets that it is in: (columns,), NaN where it is in none."""
    within = np.array([[column in chosen for chosen in sets] for column in range(columns)])
    return np.divide(within @ values, within.sum(axis=1), out=np.full(columns, np.nan), where=within.any(axis=1))


def cell_distances(samples: Records, context: Context, together: int) -> tuple[CellDistances, tuple[str, ...]]:
    """Every set of so many columns (all of them where there are fewer), and the columns' names."""
    labelled = samples.labels is not None
    ones, others = (table_of(part, context.dataset.facts, labelled) for part in (samples, context.dataset.held_out))
    draw = np.random.default_rng([context.seed, 6])
    sets = sets_of(len(ones.sizes), together, draw)
    resamples = [draw.integers(0, len(ones.rows), len(ones.rows)) for _ in range(RESAMPLES)]
    values, resampled = np.empty(len(sets)), np.empty((RESAMPLES, len(sets)))
    for place, columns in enumerate(sets):
        codes, shares = codes_and_shares(ones, others, columns)
        values[place] = _variation(codes, shares)
        resampled[:, place] = [_variation(codes[chosen], shares) for chosen in resamples]
    return CellDistances(sets, values, resampled), ones.names


def sets_of(columns: int, together: int, draw: np.random.Generator) -> list[tuple[int, ...]]:
    """Every set of so many of the columns, of more than MOST_SETS so many drawn; one of all columns where there are fewer."""
    sets = list(combinations(range(columns), min(together, columns)))
    return sets if len(sets) <= MOST_SETS else [sets[place] for place in np.sort(draw.permutation(len(sets))[:MOST_SETS])]


def variation_of(ones: Table, others: Table, columns: Sequence[int]) -> float:
    """Total variation distance of these columns together between two sets of rows."""
    return _variation(*codes_and_shares(ones, others, columns))


def codes_and_shares(ones: Table, others: Table, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The cell of these columns that each of `ones` is in, int64 (N,), and the cells' shares among `others` (cells,)."""
    chosen = list(columns)
    codes, reference, cells = cell_numbers(ones.rows[:, chosen], others.rows[:, chosen], [ones.sizes[column] for column in chosen])
    return codes, np.bincount(reference, minlength=cells) / len(reference)


def cell_numbers(ones: np.ndarray, others: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, int]:
    """The number of each row's cell, int64 (N,) and (M,), and how many cells there are, or how many occur where there are too many."""
    rows, cells = np.concatenate([ones, others]), prod(sizes)
    if cells > MOST_CELLS:
        distinct_rows, codes = np.unique(rows, axis=0, return_inverse=True)
        cells = len(distinct_rows)
    else:
        codes = np.asarray(np.ravel_multi_index(tuple(rows.T), tuple(sizes)))
    return codes[: len(ones)], codes[len(ones) :], cells


def _variation(codes: np.ndarray, shares: np.ndarray) -> float:
    return float(np.abs(np.bincount(codes, minlength=len(shares)) / len(codes) - shares).sum() / 2)


def _measurement(value: float, resampled: np.ndarray, context: Context, note: str) -> Measurement:
    error = float(np.std(resampled, ddof=1))
    return Measurement(value, normal(value, error, low=0.0), context.dataset.facts.kind.feature_label, note)
