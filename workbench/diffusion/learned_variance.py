"""Reverse variances that a network learns, by the variational bound (Nichol and Dhariwal 2021, "IDDPM").

The network's output has twice the records' channels: first what it predicts, then v, where -1 stands for the posterior's variance
beta~_t and 1 for beta_t, the two extremes between which the best variance lies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.diffusion.config import SamplerConfig
from workbench.diffusion.guidance import classifier_free
from workbench.diffusion.process import GaussianDiffusion
from workbench.diffusion.walk import fresh_noise, walk
from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.diffusion.guidance import Model

LEVELS = 256  # of a pixel, over which p(x_0 | x_1) is discretised
WIDEST = 10.0  # v is kept within this many times its range, so that no variance overflows
LEAST = 1e-12  # probability of a pixel's level below which its logarithm is cut


class LearnedVariances:
    """The terms of the variational bound of a process with learned variances; `t` int64 (B,) in 1..T, tensors (B, C, ...)."""

    def __init__(self, diffusion: GaussianDiffusion) -> None:
        self.diffusion = diffusion
        betas, abar = diffusion.schedule.betas[1:], diffusion.schedule.alphas_cumprod
        posterior = betas * (1 - abar[:-1]) / (1 - abar[1:])  # beta~_t (T,); beta~_1 is 0, and its logarithm taken from t = 2
        posterior[0] = posterior[1] if len(betas) > 1 else betas[0]
        self._values = np.stack([np.log(betas), np.log(posterior), *posterior_weights(abar[1:], abar[:-1])])  # (4, T)
        self._tables: dict[torch.device, Tensor] = {}

    def _at(self, t: Tensor, like: Tensor) -> tuple[Tensor, ...]:
        """log beta_t, log beta~_t and the weights of x_start and x_t in the posterior's mean, each (B, 1, ...)."""
        if t.device not in self._tables:
            self._tables[t.device] = torch.tensor(self._values, device=t.device)
        return tuple(row.reshape(-1, *[1] * (like.ndim - 1)).to(like.dtype) for row in self._tables[t.device][:, t - 1])

    def term(self, output: Tensor, x_start: Tensor, x_t: Tensor, t: Tensor, *, clip: bool = False) -> Tensor:
        """L_{t-1} of the bound in bits per dimension, (B,): a divergence, at t = 1 a likelihood (Ho et al. 2020, eq. 5 and 13).

        Only v gets its gradient: the mean is held fixed (IDDPM, section 3.1). `clip` keeps predicted records in [-1, 1].
        """
        predicted, v = output.chunk(2, dim=1)
        log_beta, log_posterior, x_start_weight, x_weight = self._at(t, x_start)
        guess = self.diffusion.predict_x_start(predicted.detach(), x_t, t)
        mean = x_start_weight * (guess.clamp(-1, 1) if clip else guess) + x_weight * x_t
        log_variance = interpolated_log_variance(v, log_beta, log_posterior)
        away = (x_start_weight * x_start + x_weight * x_t - mean).square()
        divergence = 0.5 * (log_variance - log_posterior - 1 + (log_posterior - log_variance).exp() + away * (-log_variance).exp())
        first = t.reshape(-1, *[1] * (x_start.ndim - 1)) == 1
        nats = torch.where(first, -discretised_log_likelihood(x_start, mean, log_variance), divergence)
        return nats.flatten(1).mean(dim=1) / math.log(2)

    def prior_term(self, x_start: Tensor) -> Tensor:
        """L_T of the bound in bits per dimension, (B,): how far x_T is from pure noise."""
        abar = float(self.diffusion.schedule.alphas_cumprod[-1])
        nats = 0.5 * (abar * x_start.square() - abar - math.log1p(-abar))
        return nats.flatten(1).mean(dim=1) / math.log(2)

    @without_gradients
    def bound(self, model: Model, x_start: Tensor, generator: torch.Generator, labels: Tensor | None = None) -> Tensor:
        """L_vlb of each record in bits per dimension (B,): all T + 1 terms, with one draw of noise for each.

        An upper bound, in expectation, on how many bits the model needs to name the record's pixels; a private value.
        """
        total = self.prior_term(x_start)
        for time in range(1, self.diffusion.timesteps + 1):
            t = torch.full((len(x_start),), time, dtype=torch.int64, device=x_start.device)
            x_t = self.diffusion.add_noise(x_start, fresh_noise(x_start, generator), t)
            total = total + self.term(model(x_t, t, labels), x_start, x_t, t, clip=True)
        return total

    def hybrid_loss(self, output: Tensor, x_start: Tensor, noise: Tensor, t: Tensor, weight: float) -> Tensor:
        """L_simple + weight L_vlb of a record, (B,), at the one time step `t` that stands for all T (IDDPM, eq. 16; Chu et al., eq. 6)."""
        simple = self.diffusion.loss(output.chunk(2, dim=1)[0], x_start, noise, t)
        x_t = self.diffusion.add_noise(x_start, noise, t)
        return simple + weight * self.diffusion.timesteps * self.term(output, x_start, x_t, t)


def posterior_weights(now: np.ndarray, then: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of x_start and x_t in the mean of q(x_s | x_t, x_start), by alphas_cumprod at t and at s < t (Ho et al. 2020, eq. 7)."""
    alpha = now / then
    return np.sqrt(then) * (1 - alpha) / (1 - now), np.sqrt(alpha) * (1 - then) / (1 - now)


def interpolated_log_variance(v: Tensor, log_beta: Tensor, log_posterior: Tensor) -> Tensor:
    """The logarithm of the model's variance: v from -1 to 1 goes from beta~_t to beta_t (IDDPM, eq. 15)."""
    share = (v.clamp(-WIDEST, WIDEST) + 1) / 2
    return share * log_beta + (1 - share) * log_posterior


def discretised_log_likelihood(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """Log-probability of each pixel's level under a Gaussian cut at the 256 levels of [-1, 1] (Ho et al. 2020, eq. 13)."""
    half = 1 / (LEVELS - 1)
    scale = (-0.5 * log_variance).exp()
    above = torch.special.ndtr((x - mean + half) * scale)
    below = torch.special.ndtr((x - mean - half) * scale)
    probability = torch.where(x > 1 - half, 1.0, above) - torch.where(x < -1 + half, 0.0, below)
    return probability.clamp(min=LEAST).log()


def learned_ancestral(
    model: Model,
    x: Tensor,
    diffusion: GaussianDiffusion,
    sampler: SamplerConfig,
    generator: torch.Generator,
    *,
    labels: Tensor | None = None,
    start: int | None = None,
) -> Tensor:
    """Ancestral sampling with the learned variances; fewer steps use the betas of the sub-sequence (IDDPM, sections 3.1 and 4).

    Arguments as those of `generate`; v is kept within its range.
    """
    guided = classifier_free(model, labels, sampler.guidance_scale)
    abar = diffusion.schedule.alphas_cumprod

    def step(x: Tensor, now: int, then: int) -> Tensor:
        # 1. The clean record the network believes in, and v.
        t = torch.full((len(x),), now, dtype=torch.int64, device=x.device)
        predicted, v = guided(x, t).chunk(2, dim=1)
        x_start = diffusion.predict_x_start(predicted, x, t)
        x_start = x_start.clamp(-1, 1) if sampler.clip_x_start else x_start
        # 2. Mean of the posterior.
        x_start_weight, x_weight = posterior_weights(abar[now], abar[then])
        x = float(x_start_weight) * x_start + float(x_weight) * x
        # 3. One draw with the learned variance; the last step has none.
        if then > 0:
            beta = 1 - abar[now] / abar[then]
            posterior = beta * (1 - abar[then]) / (1 - abar[now])
            log_variance = interpolated_log_variance(v.clamp(-1, 1), torch.tensor(math.log(beta)), torch.tensor(math.log(posterior)))
            x = x + (0.5 * log_variance).exp() * fresh_noise(x, generator)
        return x

    return walk(x, diffusion.schedule.inference_timesteps(sampler.num_inference_steps, sampler.spacing, start), step, None)
