"""Rows in groups and back: what is done with released edges and counts, which is post-processing."""

from dataclasses import dataclass, replace

import numpy as np

from workbench.models.grouping.config import Grouping
from workbench.models.grouping.stages import columns_of, sizes
from workbench.records import Column, Records, TableKind
from workbench.training.marginals import drawn_categories, split_parts
from workbench.training.state import State


@dataclass(frozen=True)
class Groups:
    """A column's groups: `numbers` (categories,) says in which each declared category is, `shares` (groups, categories) of what a group is.

    Within a range numbers are taken to be even over its width, within merged categories as the noisy counts are (one where they are less).
    """

    numbers: np.ndarray
    shares: np.ndarray


def groups_of(config: Grouping, state: State) -> dict[int, Groups]:
    """The groups of every column that has some, by its number, as released so far."""
    columns, kind = columns_of(config, state.facts), TableKind.of(state.facts.kind)
    by_column = {
        number: ranges(kind.columns[number], state.tensors["edges"][place].cpu().numpy()) for place, number in enumerate(columns.cut)
    }
    if columns.merged:
        counts = split_parts(state.tensors["category_counts"].cpu().numpy(), sizes(state.facts, columns.merged))
        by_column |= {number: merged_categories(part, config.most_categories) for number, part in zip(columns.merged, counts, strict=True)}
    return by_column


def ranges(column: Column, bounds: np.ndarray) -> Groups:
    """Declared ranges between released bounds; what the column has beside ranges stays as it is."""
    beside = len(column.categories) - column.num_ranges
    within = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return _groups(np.append(within, len(bounds) - 1 + np.arange(beside)), np.append(np.diff(column.edges), np.ones(beside)))


def merged_categories(counts: np.ndarray, kept: int) -> Groups:
    """The `kept` most frequent categories in their order, and all others as one."""
    numbers = np.full(len(counts), kept)
    numbers[np.sort(np.argsort(-counts, kind="stable")[:kept])] = np.arange(kept)
    return _groups(numbers, np.maximum(counts, 1.0))


def _groups(numbers: np.ndarray, weights: np.ndarray) -> Groups:
    shares = np.where(np.equal.outer(np.arange(numbers.max() + 1), numbers), weights, 0.0)
    return Groups(numbers.astype(np.int64), shares / shares.sum(axis=1, keepdims=True))


def grouped(config: Grouping, data: Records, state: State) -> Records:
    """Records as the model sees them."""
    by_column = groups_of(config, state)
    if not by_column:
        return data
    rows = data.records.copy()
    for number, groups in by_column.items():
        rows[:, number] = groups.numbers[rows[:, number]]
    return replace(data, records=rows)


def ungrouped(config: Grouping, samples: Records, state: State, purpose: str) -> Records:
    """The model's rows in the declared categories, drawn within each group by what is public or released."""
    by_column = groups_of(config, state)
    if not by_column:
        return samples
    rows, draw = samples.records.copy(), state.randomness.stream(f"{purpose}, within groups")
    for number, groups in by_column.items():
        rows[:, number] = drawn_categories(groups.shares[rows[:, number]], draw.random(len(rows)))
    return replace(samples, records=rows)


def nats_within(config: Grouping, data: Records, state: State) -> np.ndarray:
    """Minus the logarithm of what each record's categories are of their groups, summed over columns: (N,)."""
    nats = np.zeros(len(data))
    for number, groups in groups_of(config, state).items():
        values = data.records[:, number]
        share = groups.shares[groups.numbers[values], values]
        nats -= np.log(share)
    return nats
