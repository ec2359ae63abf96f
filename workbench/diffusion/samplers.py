"""Samplers: from noise to records. One signature, one paper's algorithm each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from workbench.diffusion.process import GaussianDiffusion
from workbench.diffusion.walk import OnStep, fresh_noise, walk
from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Denoise: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"  # (x_t (B, ...), t (B,)) -> predicted noise (B, ...)


class Sampler(Protocol):
    """Turns `x` (B, ...) at time `times[0]` into records at time `times[-1]`, 0, in `len(times) - 1` calls of `denoise`.

    `times` are falling time steps; at the last one, T, `x` is standard normal. `eta` in [0, 1] scales the fresh noise of each
    step, drawn from `generator` (of x's device). `clip_x_start` keeps predicted records in [-1, 1], right for images. `on_step`
    sees every intermediate x.
    """

    def __call__(
        self,
        denoise: Denoise,
        x: Tensor,
        diffusion: GaussianDiffusion,
        times: Sequence[int],
        eta: float,
        generator: torch.Generator,
        *,
        clip_x_start: bool = True,
        on_step: OnStep | None = None,
    ) -> Tensor:
        """Run the algorithm; the result has the shape, dtype and device of `x`."""
        ...


def check_eta(eta: float) -> None:
    """Refuse a share of fresh noise outside [0, 1]."""
    if not 0.0 <= eta <= 1.0:
        raise WorkbenchError(f"Expected eta in [0, 1], got {eta}.")


def _predicted_x_start(denoise: Denoise, x: Tensor, time: int, alphas_cumprod: float, clip: bool) -> Tensor:
    """The clean record that the predicted noise implies at `time`."""
    noise = denoise(x, torch.full((len(x),), time, dtype=torch.int64, device=x.device))
    x_start = (x - (1.0 - alphas_cumprod) ** 0.5 * noise) / alphas_cumprod**0.5
    return x_start.clamp(-1.0, 1.0) if clip else x_start


def ddpm(
    denoise: Denoise,
    x: Tensor,
    diffusion: GaussianDiffusion,
    times: Sequence[int],
    eta: float,
    generator: torch.Generator,
    *,
    clip_x_start: bool = True,
    on_step: OnStep | None = None,
) -> Tensor:
    """Ancestral sampling by the posterior of x_{t-1} given x_t and x_start (Ho et al. 2020, eq. 6-7, Algorithm 2).

    Fewer times than all use the betas of the sub-sequence. The posterior fixes the noise, so `eta` must be 1.
    """
    if eta != 1.0:
        raise WorkbenchError(f"Expected eta 1 for the ddpm sampler, whose noise is fixed, got {eta}. Choose another to vary eta.")
    abar = diffusion.schedule.alphas_cumprod

    def step(x: Tensor, now: int, then: int) -> Tensor:
        # 1. The clean record the network believes in.
        x_start = _predicted_x_start(denoise, x, now, float(abar[now]), clip_x_start)
        # 2. Mean and variance of the posterior.
        alpha = float(abar[now] / abar[then])
        beta = 1.0 - alpha
        x_start_weight = float(abar[then]) ** 0.5 * beta / float(1.0 - abar[now])
        x_weight = alpha**0.5 * float((1.0 - abar[then]) / (1.0 - abar[now]))
        variance = beta * float((1.0 - abar[then]) / (1.0 - abar[now]))
        # 3. One draw from it; the last step has no variance.
        x = x_start_weight * x_start + x_weight * x
        if variance > 0.0:
            x = x + variance**0.5 * fresh_noise(x, generator)
        return x

    return walk(x, times, step, on_step)


def ddim(
    denoise: Denoise,
    x: Tensor,
    diffusion: GaussianDiffusion,
    times: Sequence[int],
    eta: float,
    generator: torch.Generator,
    *,
    clip_x_start: bool = True,
    on_step: OnStep | None = None,
) -> Tensor:
    """Implicit sampling (Song et al. 2021, eq. 12 and 16); eta 0 draws no noise, eta 1 has the posterior's variance.

    dp-promise calls eta rho (Wang et al. 2024, eq. 5-7).
    """
    check_eta(eta)
    abar = diffusion.schedule.alphas_cumprod

    def step(x: Tensor, now: int, then: int) -> Tensor:
        # 1. The clean record the network believes in, and the noise that goes with it.
        x_start = _predicted_x_start(denoise, x, now, float(abar[now]), clip_x_start)
        noise = (x - float(abar[now]) ** 0.5 * x_start) / float(1.0 - abar[now]) ** 0.5
        # 2. How much of the next noise level is drawn afresh.
        beta = float(1.0 - abar[now] / abar[then])
        sigma = eta * (float((1.0 - abar[then]) / (1.0 - abar[now])) * beta) ** 0.5
        # 3. The next x: signal, the noise kept, the noise drawn.
        kept = max(float(1.0 - abar[then]) - sigma**2, 0.0) ** 0.5
        x = float(abar[then]) ** 0.5 * x_start + kept * noise
        if sigma > 0.0:
            x = x + sigma * fresh_noise(x, generator)
        return x

    return walk(x, times, step, on_step)


def dpm_solver(
    denoise: Denoise,
    x: Tensor,
    diffusion: GaussianDiffusion,
    times: Sequence[int],
    eta: float,
    generator: torch.Generator,
    *,
    clip_x_start: bool = True,
    on_step: OnStep | None = None,
) -> Tensor:
    """DPM-Solver++(2M): two steps' predictions extrapolated in the log signal-to-noise ratio (Lu et al. 2022, Algorithm 2).

    eta 0 solves the probability-flow equation to second order, eta 1 the reverse diffusion (their SDE-DPM-Solver++(2M)). The
    first step has no earlier prediction and the last ends without noise: both are of first order.
    """
    check_eta(eta)
    abar = diffusion.schedule.alphas_cumprod
    earlier: tuple[Tensor, float] | None = None  # the prediction and the length of the step before

    def step(x: Tensor, now: int, then: int) -> Tensor:
        nonlocal earlier
        # 1. The clean record the network believes in, extrapolated to the middle of the step.
        x_start = _predicted_x_start(denoise, x, now, float(abar[now]), clip_x_start)
        spread, next_spread = float(1.0 - abar[now]) ** 0.5, float(1.0 - abar[then]) ** 0.5
        decay = float(abar[now] / abar[then]) ** 0.5 * next_spread / spread  # exp(-h), h the step in the log ratio
        extrapolated = x_start
        if then > 0:
            length = -math.log(decay)
            if earlier:
                extrapolated = x_start + 0.5 * length / earlier[1] * (x_start - earlier[0])
            earlier = x_start, length
        # 2. The next x: noise kept, signal, noise drawn.
        x = next_spread / spread * decay**eta * x + float(abar[then]) ** 0.5 * (1.0 - decay ** (1.0 + eta)) * extrapolated
        sigma = next_spread * (1.0 - decay ** (2.0 * eta)) ** 0.5
        if sigma > 0.0:
            x = x + sigma * fresh_noise(x, generator)
        return x

    return walk(x, times, step, on_step)
