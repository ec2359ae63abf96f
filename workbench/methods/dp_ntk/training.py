"""DP-NTK's training: gradients of a random network, their noisy mean by class, and the generator that is fitted to it."""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_ntk.method import RELEASE, DPNTKConfig
from workbench.models.embeddings import single
from workbench.models.embeddings.generators import sample
from workbench.models.embeddings.single import class_noise_share, noise_by_class, noise_share
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_by_class", "noise_share", "sample"]


def initial_state(config: DPNTKConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, Adam, and room for the one release."""
    return single.initial_state(config, facts, state, config.size(facts))


def fit(config: DPNTKConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the noisy mean of tangent features once, then minimise the squared distance to that of generated images."""
    features = partial(tangent_features, *network(config, state))
    yield from single.fit(config, data, features, RELEASE, state)


def network(config: DPNTKConfig, state: State) -> tuple[Tensor, Tensor]:
    """Weights (width, dimensions) and (width,) of the random network; public, so any repeatable draw will do."""
    draw = torch.Generator().manual_seed(0)
    dimensions = state.facts.dimensions
    inner = torch.randn(config.width, dimensions, generator=draw) / math.sqrt(dimensions)
    return inner.to(state.device), torch.randn(config.width, generator=draw).to(state.device)


def tangent_features(inner: Tensor, outer: Tensor, images: Tensor) -> Tensor:
    """Gradients (B, width (dimensions + 1)) of outer . relu(inner x) in both weights for images (B, C, H, W) in [-1, 1], of norm 1."""
    x = images.flatten(1)
    hidden = x @ inner.T
    in_inner = ((hidden > 0) * outer)[:, :, None] * x[:, None, :]
    gradients = torch.cat([in_inner.flatten(1), hidden.relu()], dim=1)
    return gradients / gradients.norm(dim=1, keepdim=True).clamp(min=1e-12)
