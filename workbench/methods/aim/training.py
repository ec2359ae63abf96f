"""The releases: counts on a public grid with noise in integers, choices by exact integer weights; and what a model makes of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.aim.method import CHOICE, ESTIMATE, MARGINALS, ONE_WAY, AIMConfig, candidates, weights
from workbench.methods.independent_marginals.training import released_one_way
from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.drawing import drawn_rows
from workbench.models.graphical.estimation import Measurement, estimated_potentials, joined_measurements
from workbench.models.graphical.junction_tree import Columns, cells_of, junction_tree
from workbench.models.graphical.zeros import zeros_of
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import counts_of, grid_of, in_steps, present_rows, sizes_of, split_parts
from workbench.training.state import State, Step

SCORE_BITS = 10  # expected counts and penalties are rounded to multiples of 2^-10, so that scores are exact


def initial_state(config: AIMConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases, and a model whose columns are even."""
    sizes, width = sizes_of(facts), max(len(one) for one in candidates(config, facts))
    sets = torch.full((len(sizes), width), -1, dtype=torch.int64)
    sets[:, 0] = torch.arange(len(sizes))
    zeros = {"one_way": sum(sizes), "answers": 0, "potentials": sum(sizes)}
    state.tensors = {name: torch.zeros(count, dtype=torch.float64, device=state.device) for name, count in zeros.items()}
    state.tensors["chosen"] = torch.full((config.num_rounds(len(sizes)), width), -1, dtype=torch.int64, device=state.device)
    state.tensors["sets"] = sets.to(state.device)
    return state


def fit(config: AIMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each release recorded as spent before a record is read for it."""
    rounds, tables = config.num_rounds(len(sizes_of(state.facts))), Tables(config, data, state.facts)
    if state.steps.get(ONE_WAY, 0) == 0:
        state.spend(ONE_WAY, 1)
        state.tensors["one_way"] = released_one_way(data, config.noise_of(config.share_of_one_way), ONE_WAY, state)
        state.steps[ONE_WAY] = 1
        yield Step(ONE_WAY, 1, 1)
    yield from estimate(config, state, 1, rounds + 1)
    for round_ in range(1, rounds + 1):
        if state.steps.get(CHOICE, 0) < round_:
            state.spend(CHOICE, round_)
            chosen = state.tensors["chosen"].clone()
            chosen[round_ - 1] = padded_columns(choose(config, tables, state, round_), chosen)
            state.tensors["chosen"], state.steps[CHOICE] = chosen, round_
            yield Step(CHOICE, round_, rounds)
        if state.steps.get(MARGINALS, 0) < round_:
            state.spend(MARGINALS, round_)
            state.tensors["answers"] = torch.cat([state.tensors["answers"], noisy_counts(config, tables, state, round_)])
            state.steps[MARGINALS] = round_
            yield Step(MARGINALS, round_, rounds)
        yield from estimate(config, state, round_ + 1, rounds + 1)


@dataclass(frozen=True)
class Tables:
    """The private counts of candidates, made when they are first asked for."""

    config: AIMConfig
    data: Records
    facts: DatasetFacts

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that are present."""
        return present_rows(self.data, self.facts)

    @cached_property
    def counts(self) -> list[np.ndarray]:
        """Of every candidate, flat."""
        return [self.of(one) for one in candidates(self.config, self.facts)]

    def of(self, columns: Columns) -> np.ndarray:
        """Of some columns, flat."""
        return counts_of(self.rows, sizes_of(self.facts), columns).ravel()


def padded_columns(columns: Columns, like: torch.Tensor) -> torch.Tensor:
    """Column numbers as a row of a tensor, -1 where there are fewer."""
    return torch.tensor([*columns, *[-1] * (like.shape[1] - len(columns))], dtype=torch.int64, device=like.device)


def choose(config: AIMConfig, tables: Tables, state: State, round_: int) -> Columns:
    """A candidate that fits in the limit, drawn by its score."""
    choices = candidates(config, state.facts)
    open_ones = fitting_candidates(config, state, choices, round_)
    scored = scores(config, tables, state, round_)[open_ones]
    rate = config.choice_epsilon(len(state.tensors["chosen"])) / 2  # epsilon over twice the distance of a score, which is 1
    return choices[open_ones[state.randomness.choose(CHOICE, round_, scored, rate)]]


def fitting_candidates(config: AIMConfig, state: State, choices: Sequence[Columns], round_: int) -> np.ndarray:
    """Positions of the candidates that a clique has already, or with which the tree is in this round's part of the limit."""
    structure = structure_of(state)
    limit = config.most_cells * round_ / len(state.tensors["chosen"])

    def fits(columns: Columns) -> bool:
        inside = structure.tree.holding(columns) is not None
        return inside or junction_tree(structure.sizes, [*structure.clique_columns, columns]).cells <= limit

    return np.flatnonzero([fits(columns) for columns in choices])


def scores(config: AIMConfig, tables: Tables, state: State, round_: int) -> np.ndarray:
    """Of each candidate, how far its counts are from the model's beyond what the noise of a release would leave, times its weight.

    Source: McKenna et al. 2022, algorithm 2, where the penalty is the mean of the noise's absolute values. A candidate that has been
    released before would have less noise with one release more, and has that penalty.
    """
    model, total, choices = beliefs_of(state), state.facts.num_records, candidates(config, state.facts)
    earlier = sets_of(state.tensors["chosen"][: round_ - 1])
    result = []
    for columns, counts, weight in zip(choices, tables.counts, weights(config, state.facts), strict=True):
        expected = np.rint(np.ldexp(model.marginal(columns).cpu().numpy().ravel() * total, SCORE_BITS))
        distance = np.abs(np.ldexp(counts.astype(np.float64), SCORE_BITS) - expected).sum()
        deviation = round_noise(config, state) / math.sqrt(1 + earlier.count(columns))
        penalty = np.rint(np.ldexp(math.sqrt(2 / math.pi) * deviation * counts.size, SCORE_BITS))
        result.append(weight * np.ldexp(distance - penalty, -SCORE_BITS))
    return np.array(result)


def round_noise(config: AIMConfig, state: State) -> float:
    """Deviation of the noise of one chosen marginal's counts."""
    return config.noise_of(config.share_of_marginals / len(state.tensors["chosen"]))


def noisy_counts(config: AIMConfig, tables: Tables, state: State, round_: int) -> torch.Tensor:
    """Counts of the marginal chosen in this round with noise, flat."""
    columns = sets_of(state.tensors["chosen"])[round_ - 1]
    grid = grid_of(1, round_noise(config, state), state.facts)
    values = state.randomness.release(MARGINALS, round_, in_steps(tables.of(columns), 1, grid), grid)
    return torch.from_numpy(values).to(state.device)


def estimate(config: AIMConfig, state: State, step: int, steps: int) -> Iterator[Step]:
    """The model of all that was released so far, from the model before on: sets come in the order in which they were first released."""
    if state.steps.get(ESTIMATE, 0) < step:
        marginals = joined_measurements(measurements(config, state))
        state.tensors["sets"] = torch.stack([padded_columns(one.columns, state.tensors["chosen"]) for one in marginals])
        structure, known = structure_of(state), state.tensors["potentials"]
        start = torch.cat([known, known.new_zeros(sum(structure.cells) - len(known))])
        state.tensors["potentials"] = estimated_potentials(structure, marginals, start, last=step == steps)
        state.steps[ESTIMATE] = step
        yield Step(ESTIMATE, step, steps)


def measurements(config: AIMConfig, state: State) -> list[Measurement]:
    """All noisy marginals so far, as shares."""
    sizes, total = sizes_of(state.facts), state.facts.num_records
    width = math.sqrt(len(sizes)) * config.noise_of(config.share_of_one_way)
    measured = [
        Measurement((column,), counts / total, width / total)
        for column, counts in enumerate(split_parts(state.tensors["one_way"].cpu().numpy(), sizes))
    ]
    chosen = sets_of(state.tensors["chosen"])[: state.steps.get(MARGINALS, 0)]
    parts = split_parts(state.tensors["answers"].cpu().numpy(), [cells_of(sizes, columns) for columns in chosen]) if chosen else []
    return measured + [Measurement(one, part / total, round_noise(config, state) / total) for one, part in zip(chosen, parts, strict=True)]


def sets_of(rows: torch.Tensor) -> list[Columns]:
    """Sets of columns from rows of numbers, -1 where there are fewer."""
    return [tuple(number for number in row if number >= 0) for row in rows.tolist()]


def structure_of(state: State) -> Structure:
    """The sets that the model has potentials of, and declared zeros; its tree begins at the last column, the label where there is one."""
    sizes = sizes_of(state.facts)
    return Structure(sizes, tuple(sets_of(state.tensors["sets"])), len(sizes) - 1, zeros_of(state.facts))


def beliefs_of(state: State) -> Beliefs:
    """The model's distribution."""
    return Beliefs.of(structure_of(state), state.tensors["potentials"])


def sample(config: AIMConfig, state: State, request: SampleRequest) -> Records:
    """Rows of the model, given the labels where some are asked for."""
    labels = request.asked_labels(state.facts.num_classes)
    rows = drawn_rows(beliefs_of(state), request.num_samples, state.randomness.stream(request.purpose), labels)
    return records(state.facts, rows, request)
