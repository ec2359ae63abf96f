"""The three releases: sums on a public grid, noise in integers."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.methods.class_moments.stages import COUNTS, SECOND_MOMENT, SUMS, multiplier, numbers, pixel_bits
from workbench.records import Records
from workbench.training.grid import NOISE_BITS, Grid, widened_deviation
from workbench.training.state import State, Step

LEAST_NORM = 1.0  # of the clipping norm: a handful of public black images would clip everything away
CHUNK = 1_000


class Vectors(Protocol):
    """How records are read as vectors (N, D) that are clipped to `norm`."""

    @property
    def norm(self) -> float: ...
    def vectors(self, records: Records) -> np.ndarray: ...


@dataclass(frozen=True)
class Reading:
    """How a record is read, by public constants: averaged over squares of `pooling` pixels, less its class's row of `origins`
    (classes, D) where there are any, and clipped to `norm` where it is added up."""

    norm: float
    pooling: int = 1
    origins: np.ndarray | None = None

    def vectors(self, records: Records) -> np.ndarray:
        """What the records add, not yet clipped: (N, D)."""
        found = vectors(records, self.pooling)
        return found if self.origins is None else found - self.origins[labels_of(records)]


Release = Callable[[ClassMomentsConfig, Records, Reading, State], np.ndarray]


def initial_state(config: ClassMomentsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases."""
    classes, dimensions = max(facts.num_classes, 1), config.dimensions(facts)
    shapes = {"sums": (classes, dimensions), "counts": (classes,), "second_moment": (numbers(config, facts, SECOND_MOMENT),)}
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: ClassMomentsConfig, data: Records, reading: Reading, state: State) -> Iterator[Step]:
    """Release each of the three once, recorded as spent before a record is read."""
    for stage, (tensor, release) in RELEASES.items():
        if state.steps.get(stage, 0) == 0:
            state.spend(stage, 1)
            state.tensors[tensor] = torch.from_numpy(release(config, data, reading, state)).to(state.device)
            state.steps[stage] = 1
            yield Step(stage, 1, 1)


def clipping_norm(config: ClassMomentsConfig, public: Records | None) -> float:
    """The norm C that is given, or the quantile of the public images' norms, at least LEAST_NORM."""
    if config.max_norm:
        return config.max_norm
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.dataset!r} to take the clipping norm from, got none. Give a max_norm.")
    return quantile_of_norms(config, Reading(math.inf, config.pooling), public)


def quantile_of_norms(config: ClassMomentsConfig, reading: Reading, public: Records) -> float:
    """The configured quantile of the norms of what public records add, at least LEAST_NORM."""
    norms = [np.linalg.norm(reading.vectors(part), axis=1) for part in chunks(public)]
    return max(LEAST_NORM, float(np.quantile(np.concatenate(norms), config.quantile)))


def release_sums(config: ClassMomentsConfig, data: Records, reading: Reading, state: State) -> np.ndarray:
    """What the records add, clipped and summed by class, with noise: (classes, dimensions)."""
    grid = Grid(deviation_of_sums(config, reading.norm), reading.norm, state.facts.num_records)
    total = np.zeros(tuple(state.tensors["sums"].shape), np.int64)
    for part in chunks(data):
        np.add.at(total, labels_of(part), grid.truncated(reading.vectors(part)) * part.mask[:, None])
    return state.randomness.release(SUMS, 1, total, grid)


def release_counts(config: ClassMomentsConfig, data: Records, _reading: Reading, state: State) -> np.ndarray:
    """Records of each class, with noise: (classes,)."""
    grid = Grid(multiplier(config, COUNTS), 1.0, state.facts.num_records)
    one = int(grid.truncated(np.ones((1, 1)))[0, 0])
    counts = np.zeros(tuple(state.tensors["counts"].shape), np.int64)
    for part in chunks(data):
        counts += np.bincount(labels_of(part)[part.mask], minlength=len(counts))
    return state.randomness.release(COUNTS, 1, counts * one, grid)


def release_second_moment(config: ClassMomentsConfig, data: Records, reading: Reading, state: State) -> np.ndarray:
    """The sum of outer products of what the records add, clipped, with noise: its `triangle`, (dimensions (dimensions + 1) / 2,)."""
    deviation = deviation_of_second_moment(config, reading.norm, state.tensors["second_moment"].numel())
    grid = Grid(deviation, reading.norm**2, state.facts.num_records)
    sums = triangle(second_moment(data, reading, state.facts.num_records))
    return state.randomness.release(SECOND_MOMENT, 1, grid.rounded(sums), grid)


def deviation_of_sums(config: ClassMomentsConfig, norm: float) -> float:
    """Of the noise of each number of the sums."""
    return multiplier(config, SUMS) * norm


def deviation_of_second_moment(config: ClassMomentsConfig, norm: float, count: int) -> float:
    """Of the noise of each of the `count` numbers of the second moment's triangle."""
    noise = multiplier(config, SECOND_MOMENT)
    return widened_deviation(noise * norm**2, noise, count)


def second_moment(data: Records, reading: Vectors, num_records: int) -> np.ndarray:
    """The sum of outer products (dimensions, dimensions), exact but for one product at the end.

    Vectors are clipped and rounded towards zero to so many steps that sums of squares fit float64's mantissa: then sums of products
    of whole numbers are exact in any order, and what one record adds does not depend on the others.
    """
    pixels = Grid(math.ldexp(reading.norm, NOISE_BITS - pixel_bits(num_records)), reading.norm, num_records)  # a step is norm / 2^bits
    total = 0.0
    for part in chunks(data):
        steps = (pixels.truncated(reading.vectors(part)) * part.mask[:, None]).astype(np.float64)
        total = total + steps.T @ steps
    return np.asarray(total) * pixels.spacing**2


def triangle(matrix: np.ndarray) -> np.ndarray:
    """The upper triangle of a symmetric matrix, off the diagonal times sqrt 2: its norm is the matrix's Frobenius norm."""
    rows, columns = np.triu_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


def symmetric(values: np.ndarray, dimensions: int) -> np.ndarray:
    """The matrix (dimensions, dimensions) whose `triangle` is `values`."""
    rows, columns = np.triu_indices(dimensions)
    matrix = np.zeros((dimensions, dimensions))
    matrix[rows, columns] = matrix[columns, rows] = values / np.where(rows == columns, 1.0, math.sqrt(2))
    return matrix


def vectors(records: Records, pooling: int) -> np.ndarray:
    """Pooled images as vectors (N, dimensions) of float64 in [0, 1]."""
    images = torch.from_numpy(records.records.astype(np.float64)) / 255
    if pooling > 1:
        images = torch.nn.functional.avg_pool2d(images, pooling, ceil_mode=True, count_include_pad=False)
    return images.flatten(1).numpy()


def chunks(records: Records) -> Iterator[Records]:
    """The records, a thousand at a time, null records among them: what is made of a record must not depend on others."""
    for start in range(0, len(records), CHUNK):
        yield records.take(slice(start, start + CHUNK))


def labels_of(records: Records) -> np.ndarray:
    """Labels (N,); of one class where there are none."""
    return np.zeros(len(records), np.int64) if records.labels is None else records.labels


RELEASES: dict[str, tuple[str, Release]] = {
    SUMS: ("sums", release_sums),
    COUNTS: ("counts", release_counts),
    SECOND_MOMENT: ("second_moment", release_second_moment),
}
