"""The releases: sums on a public grid, noise in integers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.methods.class_moments.training import (
    chunks,
    labels_of,
    second_moment,
    share_of_noise,
    shares_beside_spread,
    triangle,
)
from workbench.methods.cluster_moments import mixture
from workbench.methods.cluster_moments.method import CLUSTERS, SECOND_MOMENT, SPREADS, SUMS, ClusterMomentsConfig, multiplier
from workbench.methods.cluster_moments.mixture import coefficients_of, images_of
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.grid import Grid, widened_deviation
from workbench.training.state import State, Step


@dataclass(frozen=True)
class Differences:
    """How a record is read for the second moment: as its coefficients less its class's row of `means`, clipped to `norm`."""

    config: ClusterMomentsConfig
    facts: DatasetFacts
    means: np.ndarray
    norm: float

    def vectors(self, records: Records) -> np.ndarray:
        """What the records add, not yet clipped: (N, D)."""
        return coefficients(self.config, self.facts, records) - self.means[labels_of(records)]


Release = Callable[[ClusterMomentsConfig, Records, State, int], np.ndarray]


def initial_state(config: ClusterMomentsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases."""
    classes, dimensions, kept = max(facts.num_classes, 1), config.dimensions(facts), config.used_directions(facts)
    shapes = {
        "class_sums": (classes, dimensions + 1),
        "second_moment": (dimensions * (dimensions + 1) // 2,),
        "cluster_sums": (classes, config.clusters, kept + 1),
        "spreads": (classes, kept),
    }
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: ClusterMomentsConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release each in turn, recorded as spent before a record is read."""
    for stage, (tensor, release) in RELEASES.items():
        steps = config.rounds if stage == CLUSTERS else 1
        for step in range(state.steps.get(stage, 0) + 1, steps + 1):
            state.spend(stage, step)
            state.tensors[tensor] = torch.from_numpy(release(config, data, state, step)).to(state.device)
            state.steps[stage] = step
            yield Step(stage, step, steps, kept=stage == CLUSTERS)


def coefficients(config: ClusterMomentsConfig, facts: DatasetFacts, records: Records) -> np.ndarray:
    """Coarse cosines (N, D) of the records, whose pixels are in [0, 1]."""
    _, rows, columns = config.coarse_shape(facts)
    return coefficients_of(records.records / 255.0, rows, columns)


def release_sums(config: ClusterMomentsConfig, data: Records, state: State, step: int) -> np.ndarray:
    """Sums of images and ones by class, with noise: (classes, D + 1)."""
    norm, grid = mixture.norm_of_images(config, state), unit_grid(config, SUMS, state)
    total = np.zeros(tuple(state.tensors["class_sums"].shape), np.int64)
    for part in chunks(data):
        added = with_ones(config, clipped_vectors(coefficients(config, state.facts, part), norm))
        np.add.at(total, labels_of(part), grid.truncated(added) * part.mask[:, None])
    return state.randomness.release(SUMS, step, total, grid)


def release_second_moment(config: ClusterMomentsConfig, data: Records, state: State, step: int) -> np.ndarray:
    """The sum of outer products of clipped differences, with noise: its triangle."""
    means, _ = mixture.class_means(config, state)
    reading = Differences(config, state.facts, means, mixture.norm_of_differences(config, state))
    noise, count = multiplier(config, SECOND_MOMENT), state.tensors["second_moment"].numel()
    grid = Grid(widened_deviation(noise * reading.norm**2, noise, count), reading.norm**2, state.facts.num_records)
    sums = triangle(second_moment(data, reading, state.facts.num_records))
    return state.randomness.release(SECOND_MOMENT, step, grid.rounded(sums), grid)


def release_clusters(config: ClusterMomentsConfig, data: Records, state: State, step: int) -> np.ndarray:
    """Sums of differences and ones by the nearest cluster of the record's class, with noise: (classes, K, k + 1)."""
    directions = mixture.directions(config, state)
    centres = mixture.first_clusters(config, state, directions, step)
    if step > 1:
        parted = mixture.clusters(config, state, directions)
        centres = np.where(parted.shares[..., None] > 0, parted.means, centres)
    grid, total = unit_grid(config, CLUSTERS, state), np.zeros(tuple(state.tensors["cluster_sums"].shape), np.int64)
    for part in chunks(data):
        turned, labels = turned_differences(config, state, directions, part), labels_of(part)
        added = grid.truncated(with_ones(config, clipped_vectors(turned, directions.norm(config))))
        np.add.at(total, (labels, nearest(turned, labels, centres)), added * part.mask[:, None])
    return state.randomness.release(CLUSTERS, step, total, grid)


def release_spreads(config: ClusterMomentsConfig, data: Records, state: State, step: int) -> np.ndarray:
    """Sums by class of squared differences from the nearest cluster's mean, with noise: (classes, k)."""
    directions = mixture.directions(config, state)
    parted = mixture.clusters(config, state, directions)
    norm = mixture.reach(config, mixture.within(directions, parted))
    grid, total = unit_grid(config, SPREADS, state), np.zeros(tuple(state.tensors["spreads"].shape), np.int64)
    for part in chunks(data):
        turned, labels = turned_differences(config, state, directions, part), labels_of(part)
        kept = clipped_vectors(turned, directions.norm(config)) * directions.norm(config)
        cluster = nearest(turned, labels, parted.means, parted.shares > 0)
        squares = clipped_vectors(kept - parted.means[labels, cluster], norm) ** 2
        np.add.at(total, labels, grid.truncated(squares) * part.mask[:, None])
    return state.randomness.release(SPREADS, step, total, grid)


def unit_grid(config: ClusterMomentsConfig, name: str, state: State) -> Grid:
    """Where a release of vectors of norm at most 1 is summed."""
    return Grid(multiplier(config, name), 1.0, state.facts.num_records)


def clipped_vectors(vectors: np.ndarray, norm: float) -> np.ndarray:
    """Vectors (N, D) over `norm`, the longer ones of norm 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), norm)


def with_ones(config: ClusterMomentsConfig, vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, D) of norm at most 1 and a one beside each, weighted so that both have norm at most 1: (N, D + 1)."""
    of_vectors, of_ones = mixture.weights(config)
    return np.concatenate([of_vectors * vectors, np.full((len(vectors), 1), of_ones)], axis=1)


def turned_differences(config: ClusterMomentsConfig, state: State, directions: mixture.Directions, records: Records) -> np.ndarray:
    """Differences from class means in the directions (N, k): each by a product of its own, whatever stands beside it."""
    differences = coefficients(config, state.facts, records) - directions.means[labels_of(records)]
    return (differences[:, None] @ directions.axes)[:, 0]


def nearest(vectors: np.ndarray, labels: np.ndarray, centres: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Which centre of its class (classes, K, k) each vector (N, k) is nearest to, of those `allowed` (classes, K): int64 (N,)."""
    cluster = np.zeros(len(vectors), np.int64)
    for label in np.unique(labels):
        own = labels == label
        distances = (centres[label] ** 2).sum(1) - 2 * (vectors[own, None] @ centres[label].T)[:, 0]
        cluster[own] = (distances if allowed is None else np.where(allowed[label], distances, np.inf)).argmin(1)
    return cluster


RELEASES: dict[str, tuple[str, Release]] = {
    SUMS: ("class_sums", release_sums),
    SECOND_MOMENT: ("second_moment", release_second_moment),
    CLUSTERS: ("cluster_sums", release_clusters),
    SPREADS: ("spreads", release_spreads),
}


def sample(config: ClusterMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of a cluster of their class, drawn by its share, and its class's Gaussian about it."""
    directions = mixture.directions(config, state)
    parted = mixture.clusters(config, state, directions)
    draw = state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, mixture.noisy_counts(config, state), draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    generator = state.randomness.torch_generator(request.purpose)
    cluster = torch.multinomial(torch.from_numpy(parted.shares[rows]), 1, generator=generator)[:, 0].numpy() if len(rows) else rows
    noise = torch.randn(len(rows), directions.axes.shape[1], generator=generator, dtype=torch.float64).numpy()
    spread = np.zeros_like(noise)
    for label, root in enumerate(mixture.roots(config, state, directions, parted)):
        spread[rows == label] = noise[rows == label] @ root.T
    drawn = directions.means[rows] + (parted.means[rows, cluster] + spread) @ directions.axes.T
    images = images_of(drawn, config.coarse_shape(state.facts), (state.facts.shape[1], state.facts.shape[2]))
    return Records(to_uint8(2.0 * images - 1.0), labels)


def noise_share(config: ClusterMomentsConfig, state: State) -> float:
    """Of the second moment, in as many directions as images are drawn in."""
    return share_of_noise(mixture.second_moment(config, state), config.used_directions(state.facts))


def noise_by_class(config: ClusterMomentsConfig, state: State) -> tuple[float, ...]:
    """Of how far a class's samples lie from its records: the noise in where they lie, beside the variance of records."""
    return shares_beside_spread(mixture.noise_in_classes(config, state), float(np.trace(mixture.second_moment(config, state))))
