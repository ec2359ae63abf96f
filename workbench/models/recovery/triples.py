"""The queue of triples: a noised record, the record that it is told to recover to, and its noise level."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.datasets.base import to_unit_range
from workbench.models.image_diffusion import label_rows
from workbench.models.recovery.config import RESPONSES, RecoverySettings, keep_probability
from workbench.records import Records
from workbench.training.randomness import Randomness
from workbench.training.state import State, Step


@dataclass(frozen=True)
class Triples:
    """M triples: `noised` float32 and `responses` uint8 (M, C, H, W), positions of noise levels and label rows int64 (M,)."""

    noised: Tensor
    responses: Tensor
    levels: Tensor
    rows: Tensor

    @classmethod
    def of(cls, state: State) -> "Triples":
        """Those that a state keeps."""
        return cls(*(state.tensors[name] for name in NAMES))


NAMES = ("noised", "responses", "levels", "rows")


def room(state: State) -> dict[str, Tensor]:
    """Nothing yet."""
    empty = torch.zeros((0, *state.facts.shape))
    none = torch.zeros(0, dtype=torch.int64)
    return {"noised": empty, "responses": empty.to(torch.uint8), "levels": none, "rows": none}


def release(settings: RecoverySettings, data: Records, levels: np.ndarray, state: State) -> Iterator[Step]:
    """Make all triples once, recorded as spent before a record is read; they stay in the state, and in the room."""
    if state.steps.get(RESPONSES, 0):
        return
    state.spend(RESPONSES, 1)
    made = make_triples(settings, data, levels, state.randomness)
    state.tensors.update({name: getattr(made, name).to(state.device) for name in NAMES})
    state.steps[RESPONSES] = 1
    yield Step(RESPONSES, 1, 1, kept=True)


def make_triples(settings: RecoverySettings, data: Records, levels: np.ndarray, randomness: Randomness) -> Triples:
    """`rounds` triples of each record that is there: its level drawn evenly, its response by randomised response over candidates."""
    present = np.flatnonzero(data.mask)
    images, labels = data.records[present], label_rows(data.labels, len(data))[present] if settings.responses.conditional else None
    groups = [np.arange(len(present))] if labels is None else [np.flatnonzero(labels == row) for row in np.unique(labels)]
    origins, chosen = [], []
    for turn in range(settings.responses.rounds):
        for number, group in enumerate(groups):
            place = turn * len(groups) + number
            others = candidates(settings, images, group, randomness, place)
            position = respond(settings.responses.epsilon, others.shape[1], len(group), randomness, place)
            origins.append(group)
            chosen.append(others[np.arange(len(group)), position])
    origin, response = np.concatenate(origins), np.concatenate(chosen)
    stream = randomness.stream(f"{RESPONSES}: noise")
    at = stream.integers(0, len(levels), len(origin))
    noise = stream.standard_normal((len(origin), *images.shape[1:])).astype(np.float32)
    noised = to_unit_range(images[origin]) + levels.astype(np.float32)[at].reshape(-1, 1, 1, 1) * noise
    rows = np.zeros(len(origin), np.int64) if labels is None else labels[origin]
    return Triples(torch.from_numpy(noised), torch.from_numpy(images[response]), torch.from_numpy(at), torch.from_numpy(rows))


def candidates(settings: RecoverySettings, images: np.ndarray, group: np.ndarray, randomness: Randomness, place: int) -> np.ndarray:
    """Positions (G, k) of each record's candidates among its group, the record itself first; fewer than k in a small group."""
    count = min(settings.responses.num_candidates, len(group))
    if settings.responses.candidates == "batch":
        return batches(len(group), count, randomness, place, group)
    from sklearn.neighbors import NearestNeighbors

    flat = images[group].reshape(len(group), -1).astype(np.float32)
    near = NearestNeighbors(n_neighbors=count).fit(flat).kneighbors(flat, return_distance=False)
    return group[own_first(near)]


def own_first(near: np.ndarray) -> np.ndarray:
    """Neighbours (G, k) of records 0..G-1 with the record itself first, which duplicates may have displaced or pushed out."""
    own = np.arange(len(near))[:, None]
    order = np.argsort(near != own, axis=1, kind="stable")
    first = np.take_along_axis(near, order, axis=1)
    first[:, 0] = own[:, 0]
    return first


def batches(size: int, count: int, randomness: Randomness, place: int, group: np.ndarray) -> np.ndarray:
    """Random batches of `count`: each record's candidates are the others of its batch; the last batch borrows from the first."""
    order = np.argsort(randomness.stream(f"{RESPONSES}: batches", place).random(size), kind="stable")
    starts = np.minimum(np.arange(size) // count * count, size - count)
    members = order[starts[:, None] + np.arange(count)]  # (G, count), of the record at each place of the order
    arranged = np.empty_like(members)
    own = order[:, None]
    arranged[order] = np.take_along_axis(members, np.argsort(members != own, axis=1, kind="stable"), axis=1)
    return group[arranged]


def respond(epsilon: float, num_candidates: int, count: int, randomness: Randomness, place: int = 0) -> np.ndarray:
    """Positions (N,) among k candidates by randomised response: 0, the true one, with chance e^eps/(e^eps + k - 1), else any other evenly.

    P3DM (2024), eq. 4, after DPGEN.
    """
    stream = randomness.stream(RESPONSES, place)
    kept = stream.random(count) < keep_probability(epsilon, num_candidates)
    other = stream.integers(1, num_candidates, count) if num_candidates > 1 else np.zeros(count, np.int64)
    return np.where(kept, 0, other)
