"""The releases: sums on a public grid, noise in integers."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.methods.class_moments.training import (
    chunks,
    labels_of,
    second_moment,
    second_moments,
    share_of_noise,
    shares_beside_spread,
    triangle,
)
from workbench.methods.cluster_moments import mixture
from workbench.methods.cluster_moments.method import CLUSTERS, SECOND_MOMENT, SPREADS, SUMS, ClusterMomentsConfig, Mixtures, multiplier
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.grid import Grid, widened_deviation
from workbench.training.state import State, Step


@dataclass(frozen=True)
class Differences:
    """How a record is read for the second moment: as its coefficients less its class's row of `means`, clipped to `norm`."""

    config: Mixtures
    facts: DatasetFacts
    means: np.ndarray
    norm: float

    def vectors(self, records: Records) -> np.ndarray:
        """What the records add, not yet clipped: (N, D)."""
        return mixture.vectors_of(self.config, self.facts, records.records) - self.means[labels_of(records)]


Apart = tuple[Records, np.ndarray, np.ndarray]  # records, their differences (N, k) from clusters, and these clusters (N,)
Release = Callable[[Mixtures, Records, State, int], np.ndarray]


def initial_state(config: Mixtures, facts: DatasetFacts, state: State) -> State:
    """Room for the releases."""
    classes, dimensions, kept = max(facts.num_classes, 1), config.dimensions(facts), config.used_directions(facts)
    of_group = config.directions_of_groups(facts)
    shapes = {
        "class_sums": (classes, dimensions + 1),
        "second_moment": (dimensions * (dimensions + 1) // 2,),
        "centres": (classes, config.clusters, kept),
        "about": (kept,),
        "cluster_sums": (classes, config.clusters, kept + 1),
        "spreads": (classes, config.groups, of_group * (of_group + 1) // 2 + 1) if config.groups else (classes, kept),
    }
    state.tensors |= {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: Mixtures, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release each in turn, recorded as spent before a record is read."""
    for stage, (tensor, release) in RELEASES.items():
        steps = config.rounds if stage == CLUSTERS else 1
        for step in range(state.steps.get(stage, 0) + 1, steps + 1):
            state.spend(stage, step)
            if stage == CLUSTERS:
                keep(state, mixture.proposed_centres(config, state, step))
            keep(state, {tensor: release(config, data, state, step)})
            state.steps[stage] = step
            yield Step(stage, step, steps, kept=stage == CLUSTERS)


def keep(state: State, found: Mapping[str, np.ndarray]) -> None:
    """Put numbers into the state."""
    state.tensors |= {name: torch.from_numpy(values).to(state.device) for name, values in found.items()}


def release_sums(config: Mixtures, data: Records, state: State, step: int) -> np.ndarray:
    """Sums of images and ones by class, with noise: (classes, D + 1)."""
    norm, grid = mixture.norm_of_images(config, state), unit_grid(config, SUMS, state)
    total = np.zeros(tuple(state.tensors["class_sums"].shape), np.int64)
    for part in chunks(data):
        added = with_ones(config, clipped_vectors(mixture.vectors_of(config, state.facts, part.records), norm))
        np.add.at(total, labels_of(part), grid.truncated(added) * part.mask[:, None])
    return state.randomness.release(SUMS, step, total, grid)


def release_second_moment(config: Mixtures, data: Records, state: State, step: int) -> np.ndarray:
    """The sum of outer products of clipped differences, with noise: its triangle."""
    means, _ = mixture.class_means(config, state)
    reading = Differences(config, state.facts, means, mixture.norm_of_differences(config, state))
    noise, count = multiplier(config, SECOND_MOMENT), state.tensors["second_moment"].numel()
    grid = Grid(widened_deviation(noise * reading.norm**2, noise, count), reading.norm**2, state.facts.num_records)
    sums = triangle(second_moment(data, reading, state.facts.num_records))
    return state.randomness.release(SECOND_MOMENT, step, grid.rounded(sums), grid)


def release_clusters(config: Mixtures, data: Records, state: State, step: int) -> np.ndarray:
    """Sums of differences from the nearest centre of the record's class, and of ones, with noise: (classes, K, k + 1)."""
    directions, centres = mixture.directions(config, state), state.tensors["centres"].cpu().numpy()
    grid, total = unit_grid(config, CLUSTERS, state), np.zeros(tuple(state.tensors["cluster_sums"].shape), np.int64)
    for part in chunks(data):
        turned, labels = turned_differences(config, state, directions, part), labels_of(part)
        cluster = nearest(turned, labels, centres)
        differences = turned - centres[labels, cluster]
        added = grid.truncated(with_ones(config, clipped_vectors(differences, mixture.norm_about_centres(config, state))))
        np.add.at(total, (labels, cluster), added * part.mask[:, None])
    return state.randomness.release(CLUSTERS, step, total, grid)


def release_spreads(config: Mixtures, data: Records, state: State, step: int) -> np.ndarray:
    """What differences from the nearest cluster's mean say of spreads, with noise: `squares_by_class` or `products_by_group`."""
    directions = mixture.directions(config, state)
    parted = mixture.clusters(config, state, directions)

    def about_clusters() -> Iterator[Apart]:
        for part in chunks(data):
            turned, labels = turned_differences(config, state, directions, part), labels_of(part)
            cluster = nearest(turned, labels, parted.means, parted.shares > 0)
            yield part, turned - parted.means[labels, cluster], cluster

    norm = mixture.norm_of_spreads(config, state, mixture.within(directions, parted))
    released = state.tensors["spreads"]
    if not config.groups:
        grid = unit_grid(config, SPREADS, state)
        return state.randomness.release(SPREADS, step, squares_by_class(about_clusters(), norm, grid, tuple(released.shape)), grid)
    noise = multiplier(config, SPREADS)
    grid = Grid(widened_deviation(noise, noise, released.numel()), 1.0, state.facts.num_records)
    sums = products_by_group(config, about_clusters(), norm, mixture.groups(config, parted), state)
    return state.randomness.release(SPREADS, step, grid.rounded(sums), grid)


def squares_by_class(parts: Iterable[Apart], norm: float, grid: Grid, shape: tuple[int, ...]) -> np.ndarray:
    """Sums (classes, k) of squares of the differences, clipped to `norm` and over it: in steps of the grid."""
    total = np.zeros(shape, np.int64)
    for part, differences, _ in parts:
        np.add.at(total, labels_of(part), grid.truncated(clipped_vectors(differences, norm) ** 2) * part.mask[:, None])
    return total


def products_by_group(config: Mixtures, parts: Iterable[Apart], norm: float, in_groups: np.ndarray, state: State) -> np.ndarray:
    """Sums (classes, groups, g (g + 1) / 2 + 1) of outer products of the differences in the g widest directions, and of ones.

    Differences are clipped to `norm` and over it; `in_groups` (classes, K) has the group of each cluster.
    """
    sums, size = np.zeros(tuple(state.tensors["spreads"].shape)), config.directions_of_groups(state.facts)
    counts, (of_products, of_ones) = np.zeros(sums.shape[:2], np.int64), mixture.WEIGHTS_OF_GROUPS

    def in_turn() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part, differences, cluster in parts:
            labels, group = labels_of(part), in_groups[labels_of(part), cluster]
            np.add.at(counts, (labels, group), part.mask)
            yield differences[:, -size:] * part.mask[:, None], labels * config.groups + group

    for number, total in second_moments(in_turn(), norm, state.facts.num_records).items():
        sums[divmod(number, config.groups)][:-1] = of_products * triangle(total) / norm**2
    sums[..., -1] = of_ones * counts
    return sums


def unit_grid(config: Mixtures, name: str, state: State) -> Grid:
    """Where a release of vectors of norm at most 1 is summed."""
    return Grid(multiplier(config, name), 1.0, state.facts.num_records)


def clipped_vectors(vectors: np.ndarray, norm: float) -> np.ndarray:
    """Vectors (N, D) over `norm`, the longer ones of norm 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), norm)


def with_ones(config: Mixtures, vectors: np.ndarray) -> np.ndarray:
    """Vectors (N, D) of norm at most 1 and a one beside each, weighted so that both have norm at most 1: (N, D + 1)."""
    of_vectors, of_ones = mixture.weights(config)
    return np.concatenate([of_vectors * vectors, np.full((len(vectors), 1), of_ones)], axis=1)


def turned_differences(config: Mixtures, state: State, directions: mixture.Directions, records: Records) -> np.ndarray:
    """Differences from class means in the directions (N, k): each by a product of its own, whatever stands beside it."""
    differences = mixture.vectors_of(config, state.facts, records.records) - directions.means[labels_of(records)]
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
    """Images of a cluster of their class, drawn by its share, and its class's or its group's Gaussian about it."""
    draw = state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, mixture.noisy_counts(config, state), draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    return Records(drawn_images(config, state, rows, request.purpose), labels)


def drawn_images(config: Mixtures, state: State, rows: np.ndarray, purpose: str) -> np.ndarray:
    """Images (N, C, H, W) of the mixtures of these classes (N,), from the random stream `purpose`."""
    images = mixture.of_vectors(config, state.facts, drawn_vectors(config, state, rows, purpose))
    return to_uint8(2.0 * images - 1.0)


def drawn_frames(config: Mixtures, state: State, rows: np.ndarray, purpose: str) -> np.ndarray:
    """Frames (N, 5) of the mixtures of these classes (N,), where there are any, from the random stream `purpose`."""
    return mixture.frames_in(config, state.facts, drawn_vectors(config, state, rows, purpose))


def drawn_vectors(config: Mixtures, state: State, rows: np.ndarray, purpose: str) -> np.ndarray:
    """Vectors (N, D) of the mixtures of these classes (N,)."""
    directions = mixture.directions(config, state)
    parted = mixture.clusters(config, state, directions)
    generator = state.randomness.torch_generator(purpose)
    cluster = torch.multinomial(torch.from_numpy(parted.shares[rows]), 1, generator=generator)[:, 0].numpy() if len(rows) else rows
    noise = torch.randn(len(rows), directions.axes.shape[1], generator=generator, dtype=torch.float64).numpy()
    spread, group = np.zeros_like(noise), mixture.groups(config, parted)[rows, cluster]
    roots = mixture.roots(config, state, directions, parted)
    for label, one in np.ndindex(roots.shape[:2]):
        chosen = (rows == label) & (group == one)
        spread[chosen] = noise[chosen] @ roots[label, one].T
    return directions.means[rows] + (parted.means[rows, cluster] + spread) @ directions.axes.T


def noise_share(config: Mixtures, state: State) -> float:
    """Of the second moment, in as many directions as images are drawn in."""
    return share_of_noise(mixture.second_moment(config, state), config.used_directions(state.facts))


def noise_by_class(config: Mixtures, state: State) -> tuple[float, ...]:
    """Of how far a class's samples lie from its records: the noise in where they lie, beside the variance of records."""
    return shares_beside_spread(mixture.noise_in_classes(config, state), float(np.trace(mixture.second_moment(config, state))))
