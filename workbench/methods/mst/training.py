"""The releases: counts on a public grid with noise in integers, and choices by exact integer weights."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.independent_marginals.training import released_one_way
from workbench.methods.mst.method import CHOICE, ONE_WAY, TWO_WAY, MSTConfig, num_edges, weights
from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.drawing import drawn_rows
from workbench.models.graphical.estimation import Measurement, estimated_potentials
from workbench.models.graphical.zeros import Zeros, zeros_of
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import Pair, all_pairs, counts_of, grid_of, in_steps, present_rows, shares, sizes_of, split_parts
from workbench.training.state import State, Step

SCORE_BITS = 10  # expected counts are rounded to multiples of 2^-10, so that sums of distances are exact


def initial_state(config: MSTConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases, with every column tied to the last until the marginals of the chosen pairs are there."""
    sizes, last = sizes_of(facts), num_edges(facts)
    state.tensors = {
        "one_way": torch.zeros(sum(sizes), dtype=torch.float64, device=state.device),
        "chosen": torch.full((last, 2), -1, dtype=torch.int64, device=state.device),
        "pairs": torch.tensor([(column, last) for column in range(last)], dtype=torch.int64, device=state.device),
        "two_way": torch.zeros(sum(size * sizes[last] for size in sizes[:last]), dtype=torch.float64, device=state.device),
    }
    return state


def fit(config: MSTConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
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
    pair_scores: np.ndarray | None = None
    for step in range(state.steps.get(CHOICE, 0) + 1, edges + 1):
        state.spend(CHOICE, step)
        pair_scores = scores(config, data, state) if pair_scores is None else pair_scores
        chosen = state.tensors["chosen"].clone()
        joining = joining_pairs(all_pairs(state.facts), chosen[: step - 1].tolist(), edges + 1)
        place = state.randomness.choose(CHOICE, step, pair_scores[joining], rate)
        chosen[step - 1] = torch.tensor(all_pairs(state.facts)[joining[place]])
        state.tensors["chosen"], state.steps[CHOICE] = chosen, step
        yield Step(CHOICE, step, edges)


def scores(config: MSTConfig, data: Records, state: State) -> np.ndarray:
    """Of each pair, how far its counts are from those of independent columns by the noisy ones, summed over cells, weighted: (pairs,)."""
    sizes, rows, total = sizes_of(state.facts), present_rows(data, state.facts), state.facts.num_records
    columns = [shares(counts, total) for counts in split_parts(state.tensors["one_way"].cpu().numpy(), sizes)]
    weighted = []
    for (first, second), weight in zip(all_pairs(state.facts), weights(config, state.facts), strict=True):
        expected = np.rint(np.ldexp(np.outer(columns[first], columns[second]) * total, SCORE_BITS))
        distances = np.abs(np.ldexp(counts_of(rows, sizes, (first, second)), SCORE_BITS) - expected)
        weighted.append(weight * np.ldexp(distances.sum(), -SCORE_BITS))
    return np.array(weighted)


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


def sample(config: MSTConfig, state: State, request: SampleRequest) -> Records:
    """Rows of the distribution of largest entropy that fits columns and the tree's pairs, given the labels where some are asked for."""
    labels = request.asked_labels(state.facts.num_classes)
    rows = drawn_rows(beliefs_of(config, state), request.num_samples, state.randomness.stream(request.purpose), labels)
    return records(state.facts, rows, request)


def beliefs_of(config: MSTConfig, state: State) -> Beliefs:
    """The distribution by what has been released so far; of columns alone until there are counts of pairs."""
    sizes, total = sizes_of(state.facts), state.facts.num_records
    one_way, two_way = (state.tensors[name].cpu().numpy() / total for name in ("one_way", "two_way"))
    pairs = tuple((int(first), int(second)) for first, second in state.tensors["pairs"].tolist()) if two_way.any() else ()
    deviations = tuple(
        config.noise_of(share) * count**0.5 / total
        for share, count in ((config.share_of_one_way, len(sizes)), (config.share_of_two_way, len(sizes) - 1))
    )
    return _fitted_beliefs(sizes, pairs, one_way.tobytes(), two_way.tobytes() if pairs else b"", deviations, zeros_of(state.facts))


@lru_cache(maxsize=2)
def _fitted_beliefs(
    sizes: tuple[int, ...],
    pairs: tuple[tuple[int, int], ...],
    one_way: bytes,
    two_way: bytes,
    deviations: tuple[float, ...],
    zeros: tuple[Zeros, ...],
) -> Beliefs:
    """The same for every part of a set of samples, so it is made once."""
    columns, cells = split_parts(np.frombuffer(one_way), sizes), [sizes[first] * sizes[second] for first, second in pairs]
    joint = split_parts(np.frombuffer(two_way), cells) if pairs else []
    marginals = [Measurement((column,), shares, deviations[0]) for column, shares in enumerate(columns)]
    marginals += [Measurement(pair, shares, deviations[1]) for pair, shares in zip(pairs, joint, strict=True)]
    structure = Structure(sizes, tuple(one.columns for one in marginals), len(sizes) - 1, zeros)
    potentials = estimated_potentials(structure, marginals, torch.zeros(sum(structure.cells), dtype=torch.float64))
    return Beliefs.of(structure, potentials)
