"""A noisy mean embedding by class: vectors of norm 1 at most, summed on a grid in integers, with integer noise, once."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from workbench.datasets.base import to_unit_range
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State, Step

EMBEDDING_CHUNK = 1000
CHUNK_NUMBERS = 10_000 * EMBEDDING_CHUNK  # of an embedding of so many numbers or more, fewer records at a time

Embedding = Callable[[Tensor], Tensor]  # images (B, C, H, W) in [-1, 1] -> (B, F), each made of its own image alone


def release_grid(deviation: float, num_records: int) -> Grid:
    """Where a sum over records is released: vectors of norm 1, noise of that deviation."""
    return Grid(deviation=deviation, max_norm=1.0, num_records=num_records)


def release(
    data: Records, embedding: Embedding, deviation: float, state: State, stage: str, tensor: str, step: int = 1, steps: int = 1
) -> Iterator[Step]:
    """Release step `step` of a stage into the tensor (F, classes) of that name, unless it stands there; spent before a record is read."""
    if state.steps.get(stage, 0) >= step:
        return
    grid = release_grid(deviation, state.facts.num_records)
    state.spend(stage, step)
    total = summed(data, embedding, grid, tuple(state.tensors[tensor].shape), state.device)
    released = state.randomness.release(stage, step, total, grid) / state.facts.num_records
    state.tensors[tensor] = torch.from_numpy(released).float().to(state.device)
    state.steps[stage] = step
    yield Step(stage, step, steps)


@torch.no_grad()
def summed(data: Records, embedding: Embedding, grid: Grid, shape: tuple[int, ...], device: torch.device) -> np.ndarray:
    """The sum by class (F, classes) of the records' vectors, each clipped and rounded towards zero, in grid steps."""
    total = np.zeros(shape, np.int64)
    chunk = max(1, min(EMBEDDING_CHUNK, CHUNK_NUMBERS // shape[0]))
    for start in range(0, len(data), chunk):
        part = data.take(slice(start, start + chunk))
        images = torch.from_numpy(to_unit_range(part.records)).to(device)
        steps = grid.truncated(embedding(images).cpu().numpy()) * part.mask[:, None]
        labels = np.zeros(len(part), np.int64) if part.labels is None else part.labels
        for label in np.unique(labels):
            total[:, label] += steps[labels == label].sum(axis=0)
    return total


def share_of_noise(embedding: Tensor, deviation: float, num_records: int) -> float:
    """Which part of the squared norm of a released mean embedding its noise, `deviation` on the sum, is expected to have."""
    return min(1.0, embedding.numel() * (deviation / num_records) ** 2 / max(float(embedding.square().sum()), 1e-300))


def class_share_of_noise(embedding: Tensor, deviation: float, num_records: int) -> float | None:
    """The same of what differs between classes: the embedding (F, K) without its largest singular direction, which all classes share.

    Noise has (F - 1)(K - 1) of its F K squared units there. None where there is one class.
    """
    rows, classes = embedding.shape
    if min(rows, classes) < 2:
        return None
    apart = torch.linalg.svdvals(embedding.double())[1:].square().sum()
    return min(1.0, (rows - 1) * (classes - 1) * (deviation / num_records) ** 2 / max(float(apart), 1e-300))


def noise_by_class(embedding: Tensor, deviation: float, num_records: int) -> tuple[float, ...]:
    """The same of the column of each class of the embedding (F, K)."""
    noise = embedding.shape[0] * (deviation / num_records) ** 2
    return tuple(min(1.0, noise / max(float(square), 1e-300)) for square in embedding.square().sum(dim=0))
