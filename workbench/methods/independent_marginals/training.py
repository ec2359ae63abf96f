"""The release: counts on a public grid, noise in integers."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.independent_marginals.method import MARGINALS, IndependentMarginalsConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import drawn_categories, grid_of, in_steps, one_way, present_rows, shares, sizes_of, split_parts
from workbench.training.state import State, Step


def initial_state(config: IndependentMarginalsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the counts."""
    state.tensors = {"one_way": torch.zeros(sum(sizes_of(facts)), dtype=torch.float64, device=state.device)}
    return state


def fit(config: IndependentMarginalsConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the counts once, recorded as spent before a record is read."""
    if state.steps.get(MARGINALS, 0) == 0:
        assert config.noise_multiplier is not None
        state.spend(MARGINALS, 1)
        state.tensors["one_way"] = released_one_way(data, config.noise_multiplier, MARGINALS, state)
        state.steps[MARGINALS] = 1
        yield Step(MARGINALS, 1, 1)


def released_one_way(data: Records, noise_multiplier: float, purpose: str, state: State) -> torch.Tensor:
    """Counts of every column's categories with noise of `noise_multiplier` over a null record's distance: (sum of sizes,)."""
    sizes = sizes_of(state.facts)
    grid = grid_of(len(sizes), noise_multiplier, state.facts)
    counts = in_steps(one_way(present_rows(data, state.facts), sizes), len(sizes), grid)
    return torch.from_numpy(state.randomness.release(purpose, 1, counts, grid)).to(state.device)


def sample(config: IndependentMarginalsConfig, state: State, request: SampleRequest) -> Records:
    """Each column drawn by its shares whatever the others are, the label too where none is asked for."""
    columns = split_parts(state.tensors["one_way"].cpu().numpy(), sizes_of(state.facts))
    uniform = state.randomness.stream(request.purpose).random((request.num_samples, len(columns)))
    parts = [np.broadcast_to(shares(counts, state.facts.num_records), (request.num_samples, counts.size)) for counts in columns]
    rows = np.stack([drawn_categories(part, chance) for part, chance in zip(parts, uniform.T, strict=True)], axis=1)
    if (labels := request.asked_labels(state.facts.num_classes)) is not None:
        rows[:, -1] = labels
    return records(state.facts, rows, request)
