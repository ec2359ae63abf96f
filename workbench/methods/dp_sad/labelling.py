"""Finding labels: centroids of public images, of private sums and counts with noise, or of features of private records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.methods.dp_sad.labels import CENTROIDS, FEATURES, NORM, SUMS, Labels
from workbench.models.selection import spaces
from workbench.models.selection.config import COLOURED, DRAWN
from workbench.models.selection.variations import varied_images
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

LARGEST = 255 * spaces.PER_PIXEL  # of a white pixel in the space of whole numbers
FEATURE_WIDTH = 16
LEAST_NORM = 1.0  # that public images give: a handful of black ones would clip everything away
CHUNK = 1_000


def add_to(settings: Labels, facts: DatasetFacts, state: State) -> None:
    """Room for the centroids in a first state, and for the network where they lie among its features."""
    if settings.are_given:
        return
    dimensions = facts.dimensions
    if settings.source == "self-supervised":
        channels, height, width = facts.shape
        draw = state.randomness.torch_generator(f"initialisation of {FEATURES}")
        network = networks.initialized(lambda: networks.SmallCNN((channels, height, width), 1, FEATURE_WIDTH), draw).to(state.device)
        state.modules[FEATURES] = network
        learned = [weight for name, weight in network.named_parameters() if not name.startswith("head")]
        state.optimizers[FEATURES] = torch.optim.Adam(learned, lr=settings.self_supervision.learning_rate)
        dimensions = network.feature_dimensions
    state.tensors[CENTROIDS] = torch.zeros(settings.clusters, dimensions, dtype=torch.float64, device=state.device)
    if settings.are_paid_for:
        state.tensors[SUMS] = torch.zeros(settings.clusters, dimensions + 1, dtype=torch.float64, device=state.device)
        state.tensors[NORM] = torch.tensor(settings.max_norm or dimensions**0.5, dtype=torch.float64, device=state.device)


def find(settings: Labels, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """The centroids, from where the state stands."""
    if settings.are_given:
        return
    if settings.are_paid_for:
        yield from dp_k_means(settings, data, public, state)
        return
    own = settings.source == "self-supervised"
    if own:
        yield from learn_features(settings, data, state)
    if not state.steps.get(CENTROIDS, 0):
        if own:
            state.spend(CENTROIDS, 1)
        features = features_of(data.take(data.mask), state) if own else pixels_of(public_images(public), state)
        yield keep_centroids(1, 1, k_means(settings, features, state), state, private=own)


def dp_k_means(settings: Labels, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Lloyd's rounds on sums and counts with noise. A centroid to which hardly any record is near stays where it was.

    The first ones are those of public images, or evenly random images where there are none. Public images give the clipping norm too.
    """
    if public is not None and not settings.max_norm and not state.steps.get(CENTROIDS, 0):
        state.tensors[NORM].fill_(quantile_of_norms(settings, pixels_of(public, state)))
    for round_ in range(1, settings.rounds + 2):
        if state.steps.get(CENTROIDS, 0) < round_:
            first = pixels_of(public or state.facts.draw(settings.clusters), state) if round_ == 1 else None
            centroids = averages(state) if first is None else first if public is None else k_means(settings, first, state)
            yield keep_centroids(round_, settings.rounds + 1, centroids, state)
        if state.steps.get(SUMS, 0) < round_ <= settings.rounds:
            yield release(settings, round_, data, state)


def public_images(public: Records | None) -> Records:
    """The public images, which the configuration made sure of."""
    assert public is not None
    return public


def with_cluster_labels(settings: Labels, records: Records, state: State) -> Records:
    """The records with the number of the nearest centroid as their label; as they are where labels are given."""
    if settings.are_given:
        return records
    make = features_of if settings.source == "self-supervised" else pixels_of
    parts = [nearest(make(records.take(slice(start, start + CHUNK)), state), state) for start in range(0, len(records), CHUNK)]
    return replace(records, labels=np.concatenate([np.zeros(0, np.int64), *parts]))


def nearest(features: np.ndarray, state: State) -> np.ndarray:
    """The nearest centroid's number of each row (N, D), int64 (N,): by that row and the centroids alone where both are whole numbers."""
    positions = spaces.nearest(torch.from_numpy(features).to(state.device), state.tensors[CENTROIDS], 1)
    return positions[:, 0].cpu().numpy()


def pixels_of(records: Records, state: State) -> np.ndarray:
    """Pixels as whole numbers from 0 to LARGEST, float64 (N, D), in which distances are exact."""
    _, height, width = state.facts.shape
    space = spaces.blurred_pixels(0.0, height, width, torch.device("cpu"))
    return space(torch.from_numpy(records.records)).numpy()


def features_of(records: Records, state: State) -> np.ndarray:
    """What the self-supervised network makes of records, of norm 1, float64 (N, D)."""
    network = state.modules[FEATURES]
    assert isinstance(network, networks.SmallCNN)
    with torch.no_grad():
        parts = torch.from_numpy(to_unit_range(records.records)).to(state.device).split(CHUNK)
        features = torch.cat([network.features(part) for part in parts])
    return torch.nn.functional.normalize(features.double(), dim=1).cpu().numpy()


def k_means(settings: Labels, features: np.ndarray, state: State) -> np.ndarray:
    """scikit-learn's centroids (k, D) of features (N, D), by the state's randomness."""

    seed = int(state.randomness.stream(CENTROIDS).integers(0, 2**31, 1)[0])
    return KMeans(settings.clusters, random_state=seed).fit(features).cluster_centers_


def keep_centroids(step: int, steps: int, centroids: np.ndarray, state: State, *, private: bool = False) -> Step:
    """Keep centroids (k, D); those of pixels become whole numbers."""
    whole = centroids if FEATURES in state.modules else np.rint(centroids)
    state.tensors[CENTROIDS] = torch.from_numpy(whole).to(state.device)
    state.steps[CENTROIDS] = step
    return Step(CENTROIDS, step, steps, private=private, kept=True)


def release(settings: Labels, round_: int, data: Records, state: State) -> Step:
    """The noisy sums of round `round_`, recorded as spent before a record is read."""
    state.spend(SUMS, round_)
    grid = Grid(settings.known_noise_multiplier(), max_norm=1.0, num_records=state.facts.num_records)
    total, norm = np.zeros(tuple(state.tensors[SUMS].shape), np.int64), float(state.tensors[NORM])
    for start in range(0, len(data), CHUNK):
        part = data.take(slice(start, start + CHUNK))
        pixels = pixels_of(part, state)
        np.add.at(total, nearest(pixels, state), grid.truncated(contributions(pixels, norm)) * part.mask[:, None])
    state.tensors[SUMS] = torch.from_numpy(state.randomness.release(SUMS, round_, total, grid)).to(state.device)
    state.steps[SUMS] = round_
    return Step(SUMS, round_, settings.rounds, private=False, kept=True)


def quantile_of_norms(settings: Labels, pixels: np.ndarray) -> float:
    """The configured quantile of the norms of public `pixels` (N, D), a white one being 1, at least LEAST_NORM."""
    return max(LEAST_NORM, float(np.quantile(np.linalg.norm(pixels, axis=1), settings.quantile)) / LARGEST)


def contributions(pixels: np.ndarray, norm: float) -> np.ndarray:
    """What records add to their cluster, never negative, of norm at most 1: pixels clipped to `norm` and over it, and a one, both over
    sqrt 2. In `norm` a white pixel is 1."""
    lengths = np.linalg.norm(pixels, axis=1, keepdims=True)
    ones = np.ones((len(pixels), 1))
    return np.concatenate([pixels / np.maximum(lengths, LARGEST * norm), ones], axis=1) * 0.5**0.5


def averages(state: State) -> np.ndarray:
    """The centroids (k, D) that the noisy sums (k, D + 1) say; where a noisy count is below one, the centroid before."""
    before, sums = (state.tensors[name].cpu().numpy() for name in (CENTROIDS, SUMS))
    totals, counts = sums[:, :-1] * (LARGEST * float(state.tensors[NORM])), sums[:, -1:]
    return np.where(counts < 0.5**0.5, before, (totals / np.maximum(counts, 0.5**0.5)).clip(0, LARGEST))


def learn_features(settings: Labels, data: Records, state: State) -> Iterator[Step]:
    """Contrastive steps on private records, two variations of each (Chen et al. 2020; the paper takes MoCo, which adds a queue)."""
    training, network = settings.self_supervision, state.modules[FEATURES]
    assert isinstance(network, networks.SmallCNN)
    images, names = data.records[data.mask], DRAWN if state.facts.shape[0] == 1 else COLOURED

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{FEATURES} batch", step)
        chosen = torch.from_numpy(images[torch.randint(len(images), (training.batch_size,), generator=draw).numpy()])
        views = torch.cat([varied_images(chosen, names, 1.0, draw) for _ in range(2)])
        features = network.features(views.to(state.device).float() / 127.5 - 1.0)
        return contrastive(torch.nn.functional.normalize(features, dim=1), training.temperature)

    yield from OrdinaryTrainer(training, FEATURES, state, loss, private=True).run()


def contrastive(features: Tensor, temperature: float) -> Tensor:
    """NT-Xent (Chen et al. 2020, eq. 1): each of 2 B features of norm 1 has its partner B places on, among all others."""
    count = len(features)
    alike = (features @ features.T / temperature).fill_diagonal_(-torch.inf)
    partners = torch.arange(count, device=features.device).roll(count // 2)
    return torch.nn.functional.cross_entropy(alike, partners)
