"""The releases: edges by the exponential mechanism, halving ranges near their medians; counts on a public grid with noise in integers.

Recursive halving costs a record one choice a level, since each is in one range alone (Kaplan, Schnapp and Stemmer 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.lazy import torch
from workbench.models.grouping.config import Grouping
from workbench.models.grouping.stages import COUNTS, EDGES, columns_of, num_steps, sizes
from workbench.records import Records, TableKind
from workbench.training.marginals import grid_of, in_steps, one_way
from workbench.training.state import State, Step


def initial_tensors(config: Grouping, facts: DatasetFacts, device: torch.device) -> dict[str, torch.Tensor]:
    """What is known before a record is read: edges evenly spread, and no counts; of no column where nothing is grouped."""
    columns, declared = columns_of(config, facts), TableKind.of(facts.kind).columns
    even = [spread_bounds([0, declared[number].num_ranges], config.quantile_ranges) for number in columns.cut]
    return {
        "edges": torch.from_numpy(np.array(even, dtype=np.int64).reshape(len(even), config.quantile_ranges + 1)).to(device),
        "category_counts": torch.zeros(sum(sizes(facts, columns.merged)), dtype=torch.float64, device=device),
    }


def spread_bounds(known: list[int], ranges: int) -> np.ndarray:
    """The bounds of `ranges` ranges, int64 (ranges + 1,), rising, between `known` ones that are as many ranges apart as each other."""
    each = ranges // (len(known) - 1)
    inner = [low + (high - low) * place // each for low, high in pairwise(known) for place in range(each)]
    return np.array([*inner, known[-1]], dtype=np.int64)


def fit(config: Grouping, data: Records, state: State) -> Iterator[Step]:
    """Both releases, each recorded as spent before a record is read for it."""
    columns = columns_of(config, state.facts)
    steps = num_steps(config, columns)
    for step in range(state.steps.get(EDGES, 0) + 1, steps + 1):
        state.spend(EDGES, step)
        column, level = divmod(step - 1, config.levels)
        edges = state.tensors["edges"].clone()
        edges[column] = torch.from_numpy(halved_bounds(config, data, columns.cut[column], edges[column].cpu().numpy(), level, step, state))
        state.tensors["edges"], state.steps[EDGES] = edges, step
        yield Step(EDGES, step, steps)
    if columns.merged and state.steps.get(COUNTS, 0) == 0:
        state.spend(COUNTS, 1)
        state.tensors["category_counts"] = released_counts(config, data, columns.merged, state)
        state.steps[COUNTS] = 1
        yield Step(COUNTS, 1, 1)


def halved_bounds(config: Grouping, data: Records, number: int, bounds: np.ndarray, level: int, step: int, state: State) -> np.ndarray:
    """The bounds of a column's ranges with an edge chosen in each of the 2^level ranges that are there, those of later levels between."""
    rate = config.edges_epsilon(num_steps(config, columns_of(config, state.facts))) / 2  # epsilon over twice the distance of a score
    counts = np.bincount(data.records[data.mask, number], minlength=int(bounds[-1]))[: bounds[-1]]
    each = config.quantile_ranges >> level  # ranges to be made of each
    known = bounds[::each].tolist()
    for place, (low, high) in enumerate(pairwise(known)):
        first, last = low + each // 2, high - each // 2  # so many declared ranges as are to be made stay on either side
        cut = state.randomness.choose(EDGES, step, scores(counts[low:high])[first - low - 1 : last - low], rate, place)
        bounds[(2 * place + 1) * each // 2] = first + cut
    return spread_bounds(bounds[:: each // 2].tolist(), config.quantile_ranges)


def scores(counts: np.ndarray) -> np.ndarray:
    """Of an edge after each of some declared ranges: minus the difference of the counts below and above, float64."""
    below = np.cumsum(counts)
    return -np.abs(2 * below - below[-1]).astype(np.float64)


def released_counts(config: Grouping, data: Records, numbers: tuple[int, ...], state: State) -> torch.Tensor:
    """Counts of the declared categories of some columns with noise, one column after another."""
    grid = grid_of(len(numbers), config.count_noise, state.facts)
    counts = in_steps(one_way(data.records[data.mask][:, numbers], sizes(state.facts, numbers)), len(numbers), grid)
    return torch.from_numpy(state.randomness.release(COUNTS, 1, counts, grid)).to(state.device)
