"""Samplers by a score at falling noise levels: Langevin steps, and the reverse step of the process itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

Score: TypeAlias = "Callable[[Tensor, int], Tensor]"  # (x, position of the level) -> gradient of the log-density
Displacement: TypeAlias = "Callable[[Tensor, int, float], Tensor]"  # (x, position of the level, variance of the step) -> what is added


@without_gradients
def annealed_langevin(
    score: Score,
    x: Tensor,
    levels: Sequence[float],
    step_share: float,
    steps_per_level: int,
    generator: torch.Generator,
    displacement: Displacement | None = None,
) -> Tensor:
    """Records (B, ...) from `x` (B, ...) at the first of `levels`, which fall (Song and Ermon 2020, Algorithm 1).

    A step is x + a s(x) + sqrt(2 a) z with a = `step_share` times the level's variance; after the last level the mean of the clean
    record is taken, x + sigma^2 s(x). `displacement` is added to each step, at the x that the step begins with; 2 a is its variance.
    """
    for position, level in enumerate(levels):
        step = step_share * level**2
        for _ in range(steps_per_level):
            # 1. Along the score, with fresh noise.
            noise = torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
            moved = x + step * score(x, position) + (2 * step) ** 0.5 * noise
            # 2. Along what guides, if anything does.
            x = moved if displacement is None else moved + displacement(x, position, 2 * step)
    return x + levels[-1] ** 2 * score(x, len(levels) - 1)


@without_gradients
def ancestral(
    score: Score, x: Tensor, levels: Sequence[float], generator: torch.Generator, displacement: Displacement | None = None
) -> Tensor:
    """Records (B, ...) by the reverse step of the noising process, one a level (Song et al. 2021, SDE paper, eq. 47).

    From level s to the next, r: mean x + (s^2 - r^2) s(x), variance r^2 (s^2 - r^2)/s^2; the last step has none. `displacement` is
    taken at the mean, as P3DM's eq. 4 has it.
    """
    for position, (now, then) in enumerate(pairwise([*levels, 0.0])):
        mean = x + (now**2 - then**2) * score(x, position)
        variance = then**2 * (now**2 - then**2) / now**2
        if variance == 0.0:
            return mean
        noise = torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
        x = mean + variance**0.5 * noise
        if displacement is not None:
            x = x + displacement(mean, position, variance)
    return x
