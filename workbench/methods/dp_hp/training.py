"""DP-HP's training: Hermite features of pixels and of pairs, their noisy means by class, and the generator that is fitted to them."""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_hp.method import PRODUCT, SUM, DPHPConfig
from workbench.models import label_counts
from workbench.models.embeddings import generators, releases
from workbench.models.embeddings.generators import sample
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_by_class", "noise_share", "sample"]
VALUES = 256  # of a pixel


def initial_state(config: DPHPConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, Adam, and room for every release."""
    pairs = {tensor_of(round_): (config.product_order + 1) ** 2 for round_ in range(1, config.rounds + 1)}
    return generators.initial_state(config, facts, state, {SUM: facts.dimensions * (config.order + 1)} | pairs)


def tensor_of(round_: int) -> str:
    """The name of the release of a pair."""
    return f"{PRODUCT} {round_}"


def fit(config: DPHPConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """All releases, then the generator, whose steps take one pair after the other as the paper's epochs do."""
    pixels = partial(pixel_features, order=config.order, variance=config.variance)
    yield from releases.release(data, pixels, 2.0 * config.pixels_multiplier, state, SUM, SUM)
    for round_ in range(1, config.rounds + 1):
        features, deviation = pair_of(config, state.facts, round_), 2.0 * config.pairs_multiplier
        yield from releases.release(data, features, deviation, state, PRODUCT, tensor_of(round_), round_, config.rounds)
    yield from label_counts.release(config.labels, data, state)

    def distance(step: int, images: Tensor, rows: Tensor) -> Tensor:
        apart = config.weight * squared_distance(state.tensors[SUM], pixels(images), rows)
        if config.rounds:
            round_ = 1 + (step - 1) * config.rounds // config.training.steps
            apart = apart + squared_distance(state.tensors[tensor_of(round_)], pair_of(config, state.facts, round_)(images), rows)
        return apart

    yield from generators.fit(config, state, distance)


def squared_distance(released: Tensor, features: Tensor, rows: Tensor) -> Tensor:
    """The squared distance of the mean by class of features (B, F) from what was released."""
    return (generators.mean_by_class(features, rows, released.shape[1]) - released).square().sum()


def pair_of(config: DPHPConfig, facts: DatasetFacts, round_: int) -> releases.Embedding:
    """The features of the pair of pixels of a round; public, so any repeatable draw will do."""
    places = torch.randperm(facts.dimensions, generator=torch.Generator().manual_seed(round_))[:2]
    return partial(pair_features, places=places, order=config.product_order, variance=config.variance)


def pixel_features(images: Tensor, order: int, variance: float) -> Tensor:
    """Of images (B, C, H, W) in [-1, 1], all orders of all pixels (B, C H W (order + 1)), of norm at most 1."""
    x = (images.flatten(1) + 1.0) / 2.0
    return hermite(x, order, variance).flatten(1) / math.sqrt(x.shape[1])


def pair_features(images: Tensor, places: Tensor, order: int, variance: float) -> Tensor:
    """The products of two pixels' orders (B, (order + 1)^2), of norm at most 1; of one pixel with itself where there is no other."""
    x = hermite((images.flatten(1)[:, places.to(images.device)] + 1.0) / 2.0, order, variance)
    return (x[:, 0, :, None] * x[:, -1, None, :]).flatten(1)


def hermite(x: Tensor, order: int, variance: float) -> Tensor:
    """Features (.., order + 1) of Mehler's kernel of that variance at x, over the largest norm that a pixel's value can give them."""
    values = torch.arange(VALUES, dtype=torch.float64) / (VALUES - 1)
    return raw_hermite(x, order, variance) / float(raw_hermite(values, order, variance).norm(dim=-1).max())


def raw_hermite(x: Tensor, order: int, variance: float) -> Tensor:
    """Features (.., order + 1) by their recurrence: their products sum, over all orders, to at most 1 at equal arguments."""
    rho = correlation(variance)
    features = [(1.0 - rho**2) ** 0.25 * torch.exp(-rho * x.square() / (1.0 + rho))]
    features.append(math.sqrt(2.0 * rho) * x * features[0])
    for k in range(1, order):
        features.append(math.sqrt(2.0 * rho / (k + 1)) * x * features[k] - rho * math.sqrt(k / (k + 1)) * features[k - 1])
    return torch.stack(features, dim=-1)


def correlation(variance: float) -> float:
    """Mehler's rho, 0 < rho < 1, of the Gaussian kernel of that variance."""
    inverse = 2.0 * variance
    return (-inverse + math.sqrt(inverse**2 + 4.0)) / 2.0


def noise_share(config: DPHPConfig, state: State) -> float:
    """Of the squared norm of the released features of pixels."""
    return releases.share_of_noise(state.tensors[SUM], 2.0 * config.pixels_multiplier, state.facts.num_records)


def class_noise_share(config: DPHPConfig, state: State) -> float | None:
    """The same of what differs between classes."""
    return releases.class_share_of_noise(state.tensors[SUM], 2.0 * config.pixels_multiplier, state.facts.num_records)


def noise_by_class(config: DPHPConfig, state: State) -> tuple[float, ...]:
    """The same of the features of each class."""
    return releases.noise_by_class(state.tensors[SUM], 2.0 * config.pixels_multiplier, state.facts.num_records)
