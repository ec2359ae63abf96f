"""Diffusion over categories with uniform kernels: each column of a table with its own number of them (Austin et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.diffusion.discrete.bound import bound_terms
from workbench.diffusion.discrete.config import DiscreteConfig
from workbench.diffusion.discrete.process import DiscreteDiffusion
from workbench.diffusion.discrete.sampler import Denoise, generate
from workbench.diffusion.discrete.schedules import cosine, cubic, linear
from workbench.errors import choose

if TYPE_CHECKING:
    from torch import Tensor, nn

DISCRETE_SCHEDULES: dict[str, Callable[[int], np.ndarray]] = {"cosine": cosine, "linear": linear, "cubic": cubic}

__all__ = [
    "DISCRETE_SCHEDULES",
    "Denoise",
    "DiscreteConfig",
    "DiscreteDiffusion",
    "alphas_cumprod",
    "bound_terms",
    "build_discrete",
    "cosine",
    "cubic",
    "denoiser",
    "generate",
    "linear",
]


def alphas_cumprod(config: DiscreteConfig) -> np.ndarray:
    """The schedule of `config`: float64 (T+1,), from 1, falling."""
    return choose(config.schedule, DISCRETE_SCHEDULES, "schedule")(config.timesteps)


def build_discrete(config: DiscreteConfig, categories: Sequence[int]) -> DiscreteDiffusion:
    """The process of `config` over columns of so many categories."""
    return DiscreteDiffusion(categories, alphas_cumprod(config), config.smoothing)


def denoiser(diffusion: DiscreteDiffusion, network: nn.Module) -> Denoise:
    """What a network says of the clean records: (x_t int64 (B, n), t int64 (B,)) -> probabilities (B, n, width)."""

    def denoise(x_t: Tensor, t: Tensor) -> Tensor:
        return diffusion.log_probabilities(network(diffusion.encode(x_t, t), t), x_t, t).exp()

    return denoise
