"""The reverse chain: from values drawn evenly to records, column by column at each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from workbench.diffusion.discrete.process import DiscreteDiffusion
from workbench.diffusion.walk import OnStep, walk
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Denoise: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"  # (x_t (B, n), t (B,)) -> p(x_0 | x_t) per column (B, n, width)


def generate(
    denoise: Denoise,
    diffusion: DiscreteDiffusion,
    count: int,
    generator: torch.Generator,
    *,
    release_time: int = 0,
    on_step: OnStep | None = None,
) -> Tensor:
    """Records int64 (count, n) as they stand at time `release_time` of the reverse chain, 0 for its end; on the generator's device."""
    device = generator.device
    start = torch.rand((count, diffusion.num_columns), generator=generator, device=device) * diffusion.tables(device).categories

    def step(x: Tensor, now: int, _then: int) -> Tensor:
        clean = denoise(x, torch.full((len(x),), now, dtype=torch.int64, device=device))
        return drawn_categories(diffusion.reverse(clean, x, now), generator)

    return walk(start.long(), range(diffusion.timesteps, release_time - 1, -1), step, on_step)


def drawn_categories(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    """One category a row and column of (B, n, width): int64 (B, n)."""
    cumulated = probabilities.cumsum(dim=2)
    total = cumulated[:, :, -1:]
    threshold = torch.rand(total.shape, generator=generator, device=generator.device) * total
    last = (cumulated < total).sum(dim=2)  # the last category that has a chance
    return torch.minimum((cumulated <= threshold).sum(dim=2), last)
