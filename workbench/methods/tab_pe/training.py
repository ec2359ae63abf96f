"""Counts of columns, and the rounds: votes on a public grid with noise in integers, and the rows that follow from them."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.rows import columns_of, places, varied
from workbench.methods.tab_pe.stages import CANDIDATES, COLUMNS, VOTES, cells_of_columns
from workbench.models import table_columns
from workbench.records import Records
from workbench.training.marginals import drawn, grid_of, in_steps, one_way, present_rows, sizes_of
from workbench.training.state import State, Step
from workbench.training.streams import Stream

AT_ONCE = 2_048  # records whose distances to all rows are held


def initial_state(config: TabPEConfig, facts: DatasetFacts, state: State) -> State:
    """Even rows, and no vote."""
    rows = even_rows(config, facts, state.randomness.stream(CANDIDATES))
    made = {"rows": rows, "votes": np.zeros(len(rows)), "class_votes": np.zeros(max(1, facts.num_classes))}
    made |= {"of_columns": np.zeros(cells_of_columns(facts))} if config.share_of_columns else {}
    state.tensors = {name: torch.from_numpy(values).to(state.device) for name, values in made.items()}
    return state


def even_rows(config: TabPEConfig, facts: DatasetFacts, draw: Stream) -> np.ndarray:
    """Rows int64 (rows, columns and the label) that are even in each column, and as many of one class as of another."""
    count = config.records // max(1, facts.num_classes) * max(1, facts.num_classes)
    found = [draw.integers(0, size, count) for size in sizes_of(facts)]
    if facts.num_classes:
        found[-1] = np.arange(count) % facts.num_classes
    return np.stack(found, axis=1)


def fit(config: TabPEConfig, data: Records, state: State) -> Iterator[Step]:
    """Columns; rows, then votes for them, each recorded as spent before a record is read for it; at last the rows that are left."""
    if config.share_of_columns and state.steps.get(COLUMNS, 0) == 0:
        state.spend(COLUMNS, 1)
        state.tensors["of_columns"], state.steps[COLUMNS] = released_columns(config, data, state), 1
        yield Step(COLUMNS, 1, 1)
    for step in range(1, config.rounds + 2):
        if state.steps.get(CANDIDATES, 0) < step:
            if step > 1:
                state.tensors |= following(config, state, step)
            state.steps[CANDIDATES] = step
            yield Step(CANDIDATES, step, config.rounds + 1)
        if step <= config.rounds and state.steps.get(VOTES, 0) < step:
            state.spend(VOTES, step)
            grid = grid_of(1, config.known_noise_multiplier(), state.facts)
            released = state.randomness.release(VOTES, step, in_steps(votes(config, data, state), 1, grid), grid)
            state.tensors["votes"], state.steps[VOTES] = torch.from_numpy(released).to(state.device), step
            yield Step(VOTES, step, config.rounds)


def released_columns(config: TabPEConfig, data: Records, state: State) -> torch.Tensor:
    """Noisy counts of every column's categories, the label's left out, class by class: (cells_of_columns,)."""
    rows, sizes, classes = present_rows(data, state.facts), sizes_of(state.facts), max(1, state.facts.num_classes)
    columns = len(sizes) - bool(state.facts.num_classes)
    parts = [rows[rows[:, -1] == number] for number in range(classes)] if state.facts.num_classes else [rows]
    counts = np.concatenate([one_way(part[:, :columns], sizes[:columns]) for part in parts])
    grid = grid_of(columns, config.noise_of_columns(), state.facts)
    return torch.from_numpy(state.randomness.release(COLUMNS, 1, in_steps(counts, columns, grid), grid)).to(state.device)


def votes(config: TabPEConfig, data: Records, state: State) -> np.ndarray:
    """How many records each row is the nearest to, of the rows of their class: int64 (rows,). A null record votes for none.

    Whoever is null or replaced, the products have the same shapes, so that no other record's vote depends on it.
    """
    facts, candidates = state.facts, state.tensors["rows"]
    columns, rows = columns_of(facts), candidates.cpu().numpy()
    records = table_columns.rows(facts, data)
    offered = torch.from_numpy(places(columns, config.category_weight, rows)).to(state.device)
    nearest = np.zeros(len(records), dtype=np.int64)
    for start in range(0, len(records), AT_ONCE):
        part = records[start : start + AT_ONCE]
        asked = torch.from_numpy(places(columns, config.category_weight, part)).to(state.device)
        distance = offered.square().sum(1) - 2 * asked @ offered.T
        if facts.num_classes:
            others = torch.from_numpy(part[:, -1:]).to(state.device) != candidates[:, -1]
            distance = distance.masked_fill(others, torch.inf)
        nearest[start : start + AT_ONCE] = distance.argmin(1).cpu().numpy()
    return np.bincount(nearest[data.mask], minlength=len(rows))


def following(config: TabPEConfig, state: State, step: int) -> dict[str, torch.Tensor]:
    """What the votes of the round before make of its rows: drawn at first, ranked later; at last those are left, with their votes."""
    facts, draw = state.facts, state.randomness.stream(CANDIDATES, step)
    rows, counted = state.tensors["rows"].cpu().numpy(), state.tensors["votes"].cpu().numpy()
    classes = max(1, facts.num_classes)
    label = rows[:, -1] if facts.num_classes else np.zeros(len(rows), dtype=np.int64)
    kept = np.concatenate([
        chosen(np.flatnonzero(label == number), counted, config.records // classes, step - 1 <= config.drawn_rounds, draw)
        for number in range(classes)
    ])  # fmt: skip
    found, counts = rows[kept], counted[kept]
    if step <= config.rounds:
        times = 1 if step - 1 <= config.drawn_rounds else config.variations
        others = varied(columns_of(facts), config.rate(step - 1), np.repeat(found, times, axis=0), draw)
        found = others if step - 1 <= config.drawn_rounds else np.concatenate([found, others])
        counts = np.zeros(len(found))
    class_votes = state.tensors["class_votes"].cpu().numpy() + np.bincount(label, weights=counted, minlength=classes)
    made = {"rows": found, "votes": counts, "class_votes": class_votes}
    return {name: torch.from_numpy(values).to(state.device) for name, values in made.items()}


def chosen(of_class: np.ndarray, counted: np.ndarray, count: int, by_draw: bool, draw: Stream) -> np.ndarray:
    """So many of the rows of a class, by number: drawn by their votes above 0 (evenly where there is none), or those with the most."""
    if not by_draw:
        return of_class[np.argsort(-counted[of_class], kind="stable")[:count]]
    weights = np.maximum(counted[of_class], 0.0)
    weights = weights if weights.any() else np.ones(len(of_class))
    return of_class[drawn(np.broadcast_to(weights, (count, len(of_class))), draw.random(count))]
