"""EDM's samplers: from noise to records by dx/dsigma = (x - D(x; sigma)) / sigma (Karras et al. 2022, eq. 1 and 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from workbench.diffusion.edm.config import Churn
from workbench.diffusion.walk import OnStep, fresh_noise, walk
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Denoiser: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"  # (x (B, ...), sigma (B,)) -> clean records (B, ...)

MAX_CHURN = math.sqrt(2.0) - 1.0  # of a step: at most as much noise is added as is there


class EDMSampler(Protocol):
    """Turns `x` (B, ...) at noise level `sigmas[0]` into records at the level `sigmas[-1]`, 0, in `len(sigmas) - 1` steps.

    Before a step, `churn` raises the noise level by noise from `generator` (of x's device). `clip_x_start` keeps predicted
    records in [-1, 1], right for images. `on_step` sees every intermediate x.
    """

    def __call__(
        self,
        denoise: Denoiser,
        x: Tensor,
        sigmas: Sequence[float],
        churn: Churn,
        generator: torch.Generator,
        *,
        clip_x_start: bool = True,
        on_step: OnStep | None = None,
    ) -> Tensor:
        """Run the algorithm; the result has the shape, dtype and device of `x`."""
        ...


def churned(x: Tensor, sigma: float, steps: int, churn: Churn, generator: torch.Generator) -> tuple[Tensor, float]:
    """x at a higher noise level, and that level: sigma (1 + gamma), gamma = min(S_churn / N, sqrt 2 - 1) (Algorithm 2, lines 4 to 6)."""
    if churn.amount == 0.0 or not churn.sigma_min <= sigma <= churn.sigma_max:
        return x, sigma
    raised = sigma * (1.0 + min(churn.amount / steps, MAX_CHURN))
    return x + churn.noise * math.sqrt(raised**2 - sigma**2) * fresh_noise(x, generator), raised


def slope(denoise: Denoiser, x: Tensor, sigma: float, clip: bool) -> Tensor:
    """dx/dsigma at (x, sigma) (eq. 3, in Algorithm 2, line 7)."""
    x_start = denoise(x, torch.full((len(x),), sigma, dtype=x.dtype, device=x.device))
    return (x - (x_start.clamp(-1.0, 1.0) if clip else x_start)) / sigma


def ddim(
    denoise: Denoiser,
    x: Tensor,
    sigmas: Sequence[float],
    churn: Churn,
    generator: torch.Generator,
    *,
    clip_x_start: bool = True,
    on_step: OnStep | None = None,
) -> Tensor:
    """Euler's method, of first order: the deterministic DDIM (Song et al. 2021, eq. 13 and 14) in these variables."""
    steps = len(sigmas) - 1

    def step(x: Tensor, now: float, then: float) -> Tensor:
        # 1. Some noise is added, if asked for.
        x, now = churned(x, now, steps, churn, generator)
        # 2. A straight step to the next level.
        return x + (then - now) * slope(denoise, x, now, clip_x_start)

    return walk(x, sigmas, step, on_step)


def heun(
    denoise: Denoiser,
    x: Tensor,
    sigmas: Sequence[float],
    churn: Churn,
    generator: torch.Generator,
    *,
    clip_x_start: bool = True,
    on_step: OnStep | None = None,
) -> Tensor:
    """Heun's method, of second order: without churn the deterministic Algorithm 1 (Karras et al. 2022), with churn Algorithm 2."""
    steps = len(sigmas) - 1

    def step(x: Tensor, now: float, then: float) -> Tensor:
        # 1. Some noise is added, if asked for.
        x, now = churned(x, now, steps, churn, generator)
        # 2. A straight step to the next level.
        here = slope(denoise, x, now, clip_x_start)
        straight = x + (then - now) * here
        # 3. The step once more, by the mean of the slopes at both ends; the last step has no slope at its end.
        return straight if then == 0.0 else x + (then - now) * 0.5 * (here + slope(denoise, straight, then, clip_x_start))

    return walk(x, sigmas, step, on_step)
