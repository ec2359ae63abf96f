"""The evidence lower bound of a discrete diffusion model, in its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.diffusion.discrete.process import DiscreteDiffusion
from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.diffusion.discrete.sampler import Denoise


@without_gradients
def bound_terms(denoise: Denoise, diffusion: DiscreteDiffusion, x_start: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
    """-log p(x_0) is at most the sum of these three, each (B,) in nats, summed over columns (Wei et al. 2024; Austin et al. 2021, eq. 1).

    reconstruction: E -log p(x_0 | x_1). prior: KL(q(x_T | x_0) || uniform). denoising: the sum over t = 2..T of
    E KL(q(x_{t-1} | x_t, x_0) || p(x_{t-1} | x_t)). Each expectation by one draw of `generator`.
    """
    prior = sum(prior_divergence(diffusion.cumulated_kernel(column, diffusion.timesteps)) for column in range(diffusion.num_columns))
    denoising = torch.zeros(len(x_start), device=x_start.device)
    reconstruction = denoising
    for t in range(diffusion.timesteps, 0, -1):
        times = torch.full((len(x_start),), t, dtype=torch.int64, device=x_start.device)
        x_t = diffusion.add_noise(x_start, torch.rand(x_start.shape, generator=generator, device=x_start.device), times)
        model = diffusion.reverse(denoise(x_t, times), x_t, t)
        if t == 1:
            reconstruction = -model.gather(2, x_start[:, :, None])[:, :, 0].log().sum(dim=1)
        else:
            denoising = denoising + divergence(diffusion.posterior(x_start, x_t, t), model)
    return {"reconstruction": reconstruction, "prior": torch.full_like(denoising, float(prior)), "denoising": denoising}


def prior_divergence(kernel: np.ndarray) -> float:
    """KL of a row of a uniform kernel, which all have the same, to the even distribution."""
    row = kernel[0]
    return float(np.sum(row[row > 0] * np.log(row[row > 0] * len(row))))


def divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL of products of columns, from (B, n, width) probabilities: (B,)."""
    logarithms = torch.log(first.clamp(min=1e-30)) - torch.log(second.clamp(min=1e-30))
    return (first * logarithms).sum(dim=(1, 2))
