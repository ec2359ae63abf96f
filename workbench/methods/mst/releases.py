"""The releases: counts on a public grid with noise in integers, and choices by exact integer weights."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.independent_marginals.releases import released_one_way
from workbench.methods.mst.config import MSTConfig
from workbench.methods.mst.stages import CHOICE, ONE_WAY, TWO_WAY, num_edges, weights
from workbench.records import Records
from workbench.training.marginals import Pair, all_pairs, counts_of, grid_of, in_steps, present_rows, shares, sizes_of, split
from workbench.training.state import State, Step

SCORE_BITS = 10  # expected counts are rounded to multiples of 2^-10, so that sums of distances are exact


def initial_state(facts: DatasetFacts, state: State) -> State:
    """Room for the releases, with every column tied to the last until the marginals of the chosen pairs are there."""
    sizes, last = sizes_of(facts), num_edges(facts)
    state.tensors = {
        "one_way": torch.zeros(sum(sizes), dtype=torch.float64, device=state.device),
        "chosen": torch.full((last, 2), -1, dtype=torch.int64, device=state.device),
        "pairs": torch.tensor([(column, last) for column in range(last)], dtype=torch.int64, device=state.device),
        "two_way": torch.zeros(sum(size * sizes[last] for size in sizes[:last]), dtype=torch.float64, device=state.device),
    }
    return state


def fit(config: MSTConfig, data: Records, state: State) -> Iterator[Step]:
    """Each release recorded as spent before a record is read for it."""
    if state.steps.get(ONE_WAY, 0) == 0:
        state.spend(ONE_WAY, 1)
        state.tensors["one_way"] = released_one_way(data, config.noise_of(config.share_of_one_way), ONE_WAY, state)
        state.steps[ONE_WAY] = 1
        yield Step(ONE_WAY, 1, 1)
    yield from choose_pairs(config, data, state)
    if state.steps.get(TWO_WAY, 0) == 0:
        state.spend(TWO_WAY, 1)
        state.tensors |= {"pairs": state.tensors["chosen"].clone(), "two_way": released_two_way(config, data, state)}
        state.steps[TWO_WAY] = 1
        yield Step(TWO_WAY, 1, 1)


def choose_pairs(config: MSTConfig, data: Records, state: State) -> Iterator[Step]:
    """Kruskal's tree: pair by pair, of those that join two parts of it, drawn by their scores."""
    edges = num_edges(state.facts)
    rate = config.choice_epsilon(edges) / 2  # epsilon over twice the distance of a score, which is 1
    found: np.ndarray | None = None
    for step in range(state.steps.get(CHOICE, 0) + 1, edges + 1):
        state.spend(CHOICE, step)
        found = scores(config, data, state) if found is None else found
        chosen = state.tensors["chosen"].clone()
        joining = joining_pairs(all_pairs(state.facts), chosen[: step - 1].tolist(), edges + 1)
        place = state.randomness.choose(CHOICE, step, found[joining], rate)
        chosen[step - 1] = torch.tensor(all_pairs(state.facts)[joining[place]])
        state.tensors["chosen"], state.steps[CHOICE] = chosen, step
        yield Step(CHOICE, step, edges)


def scores(config: MSTConfig, data: Records, state: State) -> np.ndarray:
    """Of each pair, how far its counts are from those of independent columns by the noisy ones, summed over cells, weighted: (pairs,)."""
    sizes, rows, total = sizes_of(state.facts), present_rows(data, state.facts), state.facts.num_records
    columns = [shares(counts, total) for counts in split(state.tensors["one_way"].cpu().numpy(), sizes)]
    found = []
    for (first, second), weight in zip(all_pairs(state.facts), weights(config, state.facts), strict=True):
        expected = np.rint(np.ldexp(np.outer(columns[first], columns[second]) * total, SCORE_BITS))
        distances = np.abs(np.ldexp(counts_of(rows, sizes, (first, second)), SCORE_BITS) - expected)
        found.append(weight * np.ldexp(distances.sum(), -SCORE_BITS))
    return np.array(found)


def joining_pairs(pairs: list[Pair], chosen: list[list[int]], num_columns: int) -> np.ndarray:
    """Positions of the pairs whose columns the chosen ones do not connect yet."""
    part = list(range(num_columns))
    for first, second in chosen:
        part = [part[first] if other == part[second] else other for other in part]
    return np.flatnonzero([part[first] != part[second] for first, second in pairs])


def released_two_way(config: MSTConfig, data: Records, state: State) -> torch.Tensor:
    """Counts of the chosen pairs with noise, one pair after another, flat."""
    sizes, rows = sizes_of(state.facts), present_rows(data, state.facts)
    pairs: list[list[int]] = state.tensors["chosen"].tolist()
    counts = np.concatenate([counts_of(rows, sizes, (first, second)).ravel() for first, second in pairs])
    grid = grid_of(len(pairs), config.noise_of(config.share_of_two_way), state.facts)
    released = state.randomness.release(TWO_WAY, 1, in_steps(counts, len(pairs), grid), grid)
    return torch.from_numpy(released).to(state.device)
