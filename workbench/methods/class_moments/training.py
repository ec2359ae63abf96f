"""The three releases: sums on a public grid, noise in integers."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.method import COUNTS, SECOND_MOMENT, SUMS, ClassMomentsConfig, multiplier, numbers, pixel_bits
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
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
class RecordTransform:
    """How a record is read, by public constants: averaged over squares of `pooling` pixels, less its class's row of `origins`
    (classes, D) where there are any, and clipped to `norm` where it is added up."""

    norm: float
    pooling: int = 1
    origins: np.ndarray | None = None

    def vectors(self, records: Records) -> np.ndarray:
        """What the records add, not yet clipped: (N, D)."""
        pooled = vectors(records, self.pooling)
        return pooled if self.origins is None else pooled - self.origins[labels_of(records)]


Release = Callable[[ClassMomentsConfig, Records, RecordTransform, State], np.ndarray]


def initial_state(config: ClassMomentsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases."""
    classes, dimensions = max(facts.num_classes, 1), config.dimensions(facts)
    triangle_size = numbers(config, facts, SECOND_MOMENT)
    shapes = {"norm": (), "sums": (classes, dimensions), "counts": (classes,), "second_moment": (triangle_size,)}
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: ClassMomentsConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release each of the three once, images clipped as public ones or the configuration say."""
    norm = clipping_norm(config, public)
    state.tensors["norm"] = torch.tensor(norm, dtype=torch.float64, device=state.device)
    yield from release_all(config, data, RecordTransform(norm, config.pooling), state)


def release_all(config: ClassMomentsConfig, data: Records, reading: RecordTransform, state: State) -> Iterator[Step]:
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
    return quantile_of_norms(config, RecordTransform(math.inf, config.pooling), public)


def quantile_of_norms(config: ClassMomentsConfig, reading: RecordTransform, public: Records) -> float:
    """The configured quantile of the norms of what public records add, at least LEAST_NORM."""
    norms = [np.linalg.norm(reading.vectors(part), axis=1) for part in chunks(public)]
    return max(LEAST_NORM, float(np.quantile(np.concatenate(norms), config.quantile)))


def release_sums(config: ClassMomentsConfig, data: Records, reading: RecordTransform, state: State) -> np.ndarray:
    """What the records add, clipped and summed by class, with noise: (classes, dimensions)."""
    grid = Grid(deviation_of_sums(config, reading.norm), reading.norm, state.facts.num_records)
    total = np.zeros(tuple(state.tensors["sums"].shape), np.int64)
    for part in chunks(data):
        np.add.at(total, labels_of(part), grid.truncated(reading.vectors(part)) * part.mask[:, None])
    return state.randomness.release(SUMS, 1, total, grid)


def release_counts(config: ClassMomentsConfig, data: Records, _reading: RecordTransform, state: State) -> np.ndarray:
    """Records of each class, with noise: (classes,)."""
    grid = Grid(multiplier(config, COUNTS), 1.0, state.facts.num_records)
    one = int(grid.truncated(np.ones((1, 1)))[0, 0])
    counts = np.zeros(tuple(state.tensors["counts"].shape), np.int64)
    for part in chunks(data):
        counts += np.bincount(labels_of(part)[part.mask], minlength=len(counts))
    return state.randomness.release(COUNTS, 1, counts * one, grid)


def release_second_moment(config: ClassMomentsConfig, data: Records, reading: RecordTransform, state: State) -> np.ndarray:
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
    """The sum of outer products (dimensions, dimensions), exact but for one product at the end."""
    parts = ((reading.vectors(part) * part.mask[:, None], np.zeros(len(part), np.int64)) for part in chunks(data))
    return second_moments(parts, reading.norm, num_records)[0]


def second_moments(parts: Iterable[tuple[np.ndarray, np.ndarray]], norm: float, num_records: int) -> dict[int, np.ndarray]:
    """Sums (D, D) of outer products of vectors (N, D) by the group (N,) that stands beside each; groups of no vector are left out.

    They are exact but for one product at the end. Vectors are clipped to `norm` and rounded towards zero to so many steps that sums of
    squares fit float64's mantissa: then sums of products of whole numbers are exact in any order, and what one record adds does not
    depend on the others.
    """
    pixels = Grid(math.ldexp(norm, NOISE_BITS - pixel_bits(num_records)), norm, num_records)  # a step is norm / 2^bits
    totals: dict[int, np.ndarray] = {}
    for vectors, groups in parts:
        steps = pixels.truncated(vectors).astype(np.float64)
        for group in np.unique(groups).tolist():
            own = steps[groups == group]
            totals[group] = totals.get(group, 0.0) + own.T @ own
    return {group: total * pixels.spacing**2 for group, total in totals.items()}


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


LEAST_COUNT = 0.1  # of an even share of the records: what a noisy count is taken to be at least


def sample(config: ClassMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of the Gaussian of their class, all classes with one covariance."""
    return drawn_images(config, *gaussians(state), state, request)


def drawn_images(config: ClassMomentsConfig, means: np.ndarray, deviations: np.ndarray, state: State, request: SampleRequest) -> Records:
    """Images of means (classes, D) and a covariance whose root (D, D) they share, of the dataset's shape."""
    counts, draw = state.tensors["counts"].cpu().numpy(), state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, counts, draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    noise = torch.randn(len(rows), means.shape[1], generator=state.randomness.torch_generator(request.purpose), dtype=torch.float64)
    images = torch.from_numpy(means[rows] + noise.numpy() @ deviations.T).view(-1, *config.pooled_shape(state.facts))
    if config.pooling > 1:
        images = torch.nn.functional.interpolate(images, size=state.facts.shape[1:], mode="bilinear", align_corners=False)
    return Records(to_uint8(2.0 * images.numpy() - 1.0), labels)


def gaussians(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and a root (D, D) of the covariance that they share, whose negative eigenvalues are cut.

    m_c = sum_c / N_c and M / n - sum_c (N_c / n) m_c m_c^T, of the noisy sums, counts and second moment.
    """
    counts = counts_of(state)
    means = state.tensors["sums"].cpu().numpy() / counts[:, None]
    return means, root(within(state, means, counts))


def counts_of(state: State) -> np.ndarray:
    """The noisy counts (classes,), none of them next to nothing."""
    counts = state.tensors["counts"].cpu().numpy()
    return np.maximum(counts, LEAST_COUNT * state.facts.num_records / len(counts))


def within(state: State, means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The covariance (D, D) within classes of these means (classes, D) by the noisy second moment; it may have negative eigenvalues."""
    second, shares = state.tensors["second_moment"].cpu().numpy(), counts / state.facts.num_records
    return symmetric(second, means.shape[1]) / state.facts.num_records - (means.T * shares) @ means


def share_of_noise(covariance: np.ndarray, kept: int | None = None) -> float:
    """Which part of the `kept` greatest variances (all, if None) of a released covariance (D, D) noise alone would give, 0..1.

    The noise is symmetric about zero, and records give no variance below it: what stands below is as much as noise puts above.
    """
    values = np.linalg.eigvalsh(covariance)
    count = len(values) if kept is None else kept
    drawn, noise = float(np.maximum(values[-count:], 0.0).sum()), float(np.maximum(-values[:count], 0.0).sum())
    return min(1.0, noise / drawn) if drawn > 0 else 1.0


def noise_share(config: ClassMomentsConfig, state: State) -> float:
    """Of the covariance that all classes share."""
    counts = counts_of(state)
    return share_of_noise(within(state, state.tensors["sums"].cpu().numpy() / counts[:, None], counts))


def class_noise_share(config: ClassMomentsConfig, state: State) -> float | None:
    """Of how the noisy class means differ."""
    return class_share_of_noise(*noisy_means(config, state))


def noise_by_class(config: ClassMomentsConfig, state: State) -> tuple[float, ...]:
    """Of how far a class's samples lie from its records: the noise on the mean, beside the variance of records."""
    means, variances = noisy_means(config, state)
    return shares_beside_spread(means.shape[1] * variances, float(np.trace(within(state, means, counts_of(state)))))


def noisy_means(config: ClassMomentsConfig, state: State) -> tuple[np.ndarray, np.ndarray]:
    """The class means (classes, D) by the noisy sums and counts, and the variance (classes,) of the noise on each of their numbers."""
    counts = counts_of(state)
    variances = (deviation_of_sums(config, float(state.tensors["norm"])) / counts) ** 2
    return state.tensors["sums"].cpu().numpy() / counts[:, None], variances


def shares_beside_spread(noise: np.ndarray, spread: float) -> tuple[float, ...]:
    """Which part (0..1) the squared norm of `noise` (classes,) is of itself and the variance of records together."""
    return tuple(float(share) for share in noise / (noise + max(spread, 1e-300)))


def shares_of_noise(means: np.ndarray, variances: np.ndarray) -> tuple[float, ...]:
    """Which part (0..1) of the squared norm of each of `means` (classes, D) noise alone would give, of such `variances` (classes,)."""
    squares = np.maximum(np.square(means).sum(axis=1), 1e-300)
    return tuple(float(share) for share in np.minimum(1.0, means.shape[1] * variances / squares))


def class_share_of_noise(means: np.ndarray, variances: np.ndarray) -> float | None:
    """Which part (0..1) of how released means (classes, D) differ from their own mean noise alone would give; None of one class.

    `variances` (classes,) are those of the noise on each number of a mean.
    """
    classes, dimensions = means.shape
    if classes < 2:
        return None
    apart = float(np.square(means - means.mean(axis=0)).sum())
    noise = dimensions * float(variances.sum()) * (classes - 1) / classes
    return min(1.0, noise / apart) if apart > 0 else 1.0


def root(covariance: np.ndarray) -> np.ndarray:
    """A root (D, D) of a covariance, whose negative eigenvalues are cut."""
    values, directions = np.linalg.eigh(covariance)
    return directions * np.sqrt(np.maximum(values, 0.0))
