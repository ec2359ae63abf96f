"""Rows drawn along the tree, which is post-processing of the releases."""

from collections.abc import Iterator

import numpy as np

from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import drawn, shares, sizes_of, split
from workbench.training.state import State


def sample(state: State, request: SampleRequest) -> Records:
    """The label as asked for (else the last column, by its shares), then every column given the one before it on its way from there."""
    sizes, count, total = sizes_of(state.facts), request.num_samples, state.facts.num_records
    draw = state.randomness.stream(request.purpose)
    columns = [shares(counts, total) for counts in split(state.tensors["one_way"].cpu().numpy(), sizes)]
    labels, root = request.asked_labels(state.facts.num_classes), len(sizes) - 1
    rows = np.empty((count, len(sizes)), dtype=np.int64)
    rows[:, root] = drawn(np.broadcast_to(columns[root], (count, sizes[root])), draw.random(count)) if labels is None else labels
    for parent, child, joint in from_root(joints(state), root):
        rows[:, child] = drawn(conditional(joint, columns[child])[rows[:, parent]], draw.random(count))
    return records(state.facts, rows, request)


def joints(state: State) -> dict[tuple[int, int], np.ndarray]:
    """Shares of the pairs of categories of each pair of columns in the tree: (size of the first, of the second)."""
    sizes, pairs = sizes_of(state.facts), state.tensors["pairs"].tolist()
    parts = split(state.tensors["two_way"].cpu().numpy(), [sizes[first] * sizes[second] for first, second in pairs])
    noisy = [part.reshape(sizes[first], sizes[second]) for (first, second), part in zip(pairs, parts, strict=True)]
    return {(first, second): shares(part, state.facts.num_records) for (first, second), part in zip(pairs, noisy, strict=True)}


def from_root(joint: dict[tuple[int, int], np.ndarray], root: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """The edges as (parent, child, shares with a row a category of the parent), parents before their children."""
    reached, left = {root}, dict(joint)
    while left:
        first, second = next(pair for pair in left if set(pair) & reached)
        part = left.pop((first, second))
        yield (first, second, part) if first in reached else (second, first, part.T)
        reached |= {first, second}


def conditional(joint: np.ndarray, child: np.ndarray) -> np.ndarray:
    """Shares of the child's categories given the parent's, row by row; the child's own where nothing is left of a row."""
    totals = joint.sum(axis=1, keepdims=True)
    return np.where(totals > 0, joint / np.where(totals > 0, totals, 1.0), child)
