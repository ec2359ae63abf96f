"""Counts of columns, and the rounds: votes on a public grid with noise in integers, and the rows that follow from them."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.tab_pe.method import CANDIDATES, COLUMNS, VOTES, TabPEConfig, cells_of_columns
from workbench.models import table_columns
from workbench.models.graphical.drawing import in_strata
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Column, Records, TableKind
from workbench.training.marginals import drawn_categories, grid_of, in_steps, one_way, present_rows, shares, sizes_of, split_parts
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
    columns = [draw.integers(0, size, count) for size in sizes_of(facts)]
    if facts.num_classes:
        columns[-1] = np.arange(count) % facts.num_classes
    return np.stack(columns, axis=1)


def fit(config: TabPEConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Columns; rows, then votes for them, each recorded as spent before a record is read for it; at last the rows that are left."""
    if config.share_of_columns and state.steps.get(COLUMNS, 0) == 0:
        state.spend(COLUMNS, 1)
        state.tensors["of_columns"], state.steps[COLUMNS] = released_columns(config, data, state), 1
        yield Step(COLUMNS, 1, 1)
    for step in range(1, config.rounds + 2):
        if state.steps.get(CANDIDATES, 0) < step:
            if step > 1:
                state.tensors |= next_rows(config, state, step)
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
        own = torch.from_numpy(places(columns, config.category_weight, part)).to(state.device)
        distance = offered.square().sum(1) - 2 * own @ offered.T
        if facts.num_classes:
            others = torch.from_numpy(part[:, -1:]).to(state.device) != candidates[:, -1]
            distance = distance.masked_fill(others, torch.inf)
        nearest[start : start + AT_ONCE] = distance.argmin(1).cpu().numpy()
    return np.bincount(nearest[data.mask], minlength=len(rows))


def next_rows(config: TabPEConfig, state: State, step: int) -> dict[str, torch.Tensor]:
    """What the votes of the round before make of its rows: drawn at first, ranked later; at last those are left, with their votes."""
    facts, draw = state.facts, state.randomness.stream(CANDIDATES, step)
    rows, counted = state.tensors["rows"].cpu().numpy(), state.tensors["votes"].cpu().numpy()
    classes = max(1, facts.num_classes)
    label = rows[:, -1] if facts.num_classes else np.zeros(len(rows), dtype=np.int64)
    kept = np.concatenate([
        chosen_rows(np.flatnonzero(label == number), counted, config.records // classes, step - 1 <= config.drawn_rounds, draw)
        for number in range(classes)
    ])  # fmt: skip
    kept_rows, counts = rows[kept], counted[kept]
    if step <= config.rounds:
        times = 1 if step - 1 <= config.drawn_rounds else config.variations
        others = varied_rows(columns_of(facts), config.rate(step - 1), np.repeat(kept_rows, times, axis=0), draw)
        kept_rows = others if step - 1 <= config.drawn_rounds else np.concatenate([kept_rows, others])
        counts = np.zeros(len(kept_rows))
    class_votes = state.tensors["class_votes"].cpu().numpy() + np.bincount(label, weights=counted, minlength=classes)
    made = {"rows": kept_rows, "votes": counts, "class_votes": class_votes}
    return {name: torch.from_numpy(values).to(state.device) for name, values in made.items()}


def chosen_rows(of_class: np.ndarray, counted: np.ndarray, count: int, by_draw: bool, draw: Stream) -> np.ndarray:
    """So many of the rows of a class, by number: drawn by their votes above 0 (evenly where there is none), or those with the most."""
    if not by_draw:
        return of_class[np.argsort(-counted[of_class], kind="stable")[:count]]
    weights = np.maximum(counted[of_class], 0.0)
    weights = weights if weights.any() else np.ones(len(of_class))
    return of_class[drawn_categories(np.broadcast_to(weights, (count, len(of_class))), draw.random(count))]


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
    chances = (1 - rate) * np.eye(size) + rate / size
    if ranges:
        chances[:ranges, :ranges] = (1 - rate * (size - ranges) / size) * shift_chances(ranges, rate * ranges)
    return chances


def shift_chances(ranges: int, reach: float) -> np.ndarray:
    """With which chance a number anywhere in a range of width 1 is in which one after an even move of at most `reach` > 0."""
    ends = np.arange(ranges + 1.0) - np.arange(ranges)[:, None]  # of all ranges, from the beginning of a number's own
    lowest, highest = ends + reach, ends + reach - 1  # above 0, so far the moves of numbers from there reach below an end
    below = (_ramp(lowest, 2 * reach) - _ramp(highest, 2 * reach)) / (2 * reach)
    below[:, 0], below[:, -1] = 0, 1
    return np.diff(below, axis=1)


def _ramp(value: np.ndarray, top: float) -> np.ndarray:
    """The integral from 0 to `value` of what rises evenly to `top` and stays there."""
    return np.where(value < top, np.square(np.maximum(value, 0)) / 2, top * value - top**2 / 2)


def varied_rows(columns: Sequence[Column], rate: float, rows: np.ndarray, draw: Stream) -> np.ndarray:
    """Each row (N, columns and the label) once, another one; labels stay."""
    changed_rows = rows.copy()
    for number, column in enumerate(columns):
        changed_rows[:, number] = drawn_categories(transitions(column, rate)[rows[:, number]], draw.random(len(rows)))
    return changed_rows


def fitted_rows(config: TabPEConfig, state: State, rows: np.ndarray, weights: np.ndarray, samples: np.ndarray, draw: Stream) -> np.ndarray:
    """The samples (N, columns and the label), which were drawn from `rows` by `weights` (classes, rows) and varied, with other cells."""
    columns, moved_samples = columns_of(state.facts), samples.copy()
    classes = samples[:, -1] if state.facts.num_classes else np.zeros(len(samples), dtype=np.int64)
    for number, (column, released) in enumerate(zip(columns, counts_of_columns(state), strict=True)):
        size, changes = len(column.categories), transitions(column, config.last_rate)
        own = np.stack([np.bincount(rows[:, number], weights=part, minlength=size) / part.sum() @ changes for part in weights])
        noise = config.noise_of_columns() * len(columns) ** 0.5
        towards = [believed_shares(counts, before, noise) for counts, before in zip(released, own, strict=True)]
        moves = np.concatenate([change_chances(column, before, after) for before, after in zip(own, towards, strict=True)])
        moved_samples[:, number] = in_strata(moves, classes * size + samples[:, number], draw)
    return moved_samples


def counts_of_columns(state: State) -> list[np.ndarray]:
    """Of each column the noisy counts: (classes, categories)."""
    sizes = [len(column.categories) for column in columns_of(state.facts)]
    counted = state.tensors["of_columns"].cpu().numpy().reshape(max(1, state.facts.num_classes), -1)
    return [np.stack(parts) for parts in zip(*(split_parts(of_class, sizes) for of_class in counted), strict=True)]


def believed_shares(counts: np.ndarray, before: np.ndarray, noise: float) -> np.ndarray:
    """Shares between those `before` and those of noisy counts: these go as far as their distance is more than noise (James and Stein)."""
    total = max(float(counts.sum()), 1.0)
    off = counts - total * before
    part = 1.0 - (counts.size - 1) * noise**2 / max(float(np.square(off).sum()), np.finfo(np.float64).tiny)
    return shares(total * before + max(0.0, part) * off, total)


def change_chances(column: Column, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """With which chance each category becomes which, so that shares `before` become `after`: (categories, categories).

    A category that has too much gives what is too much to those that have too little. Ranges are one category beside the others; within
    them, numbers keep their order.
    """
    ranges = column.num_ranges
    if not ranges:
        return _moved_rows(before, after)
    coarse = _moved_rows(*(np.concatenate([[part[:ranges].sum()], part[ranges:]]) for part in (before, after)))
    chances = np.empty((before.size, after.size))
    there = after[:ranges] / after[:ranges].sum() if after[:ranges].any() else np.full(ranges, 1 / ranges)
    chances[:ranges, :ranges] = coarse[0, 0] * _in_order(before[:ranges], there)
    chances[:ranges, ranges:] = coarse[0, 1:]
    chances[ranges:, :ranges] = coarse[1:, :1] * there
    chances[ranges:, ranges:] = coarse[1:, 1:]
    return chances


def _moved_rows(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """As many stay as can; who has to go is drawn by what is missing."""
    stay = np.divide(np.minimum(before, after), before, out=np.ones(before.size), where=before > 0)
    missing = np.maximum(after - before, 0.0)
    if missing.any():
        return np.diag(stay) + np.outer(1.0 - stay, missing / missing.sum())
    return np.eye(before.size)


def _in_order(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The chances by which numbers of shares `before` (of any scale) become `after`, the smaller ones still the smaller ones."""
    if not before.any():
        return np.tile(after, (before.size, 1))
    ends, new_ends = np.cumsum(before) / before.sum(), np.cumsum(after)
    common = np.minimum(ends[:, None], new_ends) - np.maximum((ends - before / before.sum())[:, None], new_ends - after)
    common = np.maximum(common, 0.0)
    total = common.sum(axis=1, keepdims=True)
    return np.where(total > 0, common / np.where(total > 0, total, 1.0), after)


def sample(config: TabPEConfig, state: State, request: SampleRequest) -> Records:
    """Rows of their class drawn by their last votes, varied at the last rate; classes in `class_shares` where none is asked for.

    The paper has each of the rows that are left once: of the many that hardly anybody voted for as many as of the others. It stops at
    the votes too, and a row that is the nearest of many has what is common among them: where columns were released, the samples are
    fitted to them (`columns.fitted`).
    """
    facts, draw, count = state.facts, state.randomness.stream(request.purpose), request.num_samples
    rows, votes = state.tensors["rows"].cpu().numpy(), np.maximum(state.tensors["votes"].cpu().numpy(), 0.0)
    labels, own = np.zeros(count, dtype=np.int64), np.ones((1, len(rows)), dtype=bool)
    if facts.num_classes:
        requested = request.asked_labels(facts.num_classes)
        labels = in_strata(class_shares(state)[None], labels, draw) if requested is None else requested
        own = rows[:, -1] == np.arange(facts.num_classes)[:, None]
    weights = np.where((own * votes).any(axis=1, keepdims=True), own * votes, own)
    picked = varied_rows(columns_of(facts), config.last_rate, rows[in_strata(weights, labels, draw)], draw)
    return records(facts, fitted_rows(config, state, rows, weights, picked, draw) if config.share_of_columns else picked, request)


def class_shares(state: State) -> np.ndarray:
    """Of the classes, by the noisy votes of all rounds so far; even before the first."""
    votes = state.tensors["class_votes"].cpu().numpy()
    total = float(votes.sum())
    return shares(votes, total) if total > 0 else np.full(len(votes), 1 / len(votes))
