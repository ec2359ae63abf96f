"""The walk of every sampler: from time to time until the last, and the noise that it may draw on its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

Time = TypeVar("Time", int, float)  # a time step, or a noise level
OnStep: TypeAlias = "Callable[[int, Tensor], None]"  # (steps done, x at the new time)


@without_gradients
def walk(x: Tensor, times: Sequence[Time], step: Callable[[Tensor, Time, Time], Tensor], on_step: OnStep | None) -> Tensor:
    """`x` at the last of `times`: each `step(x, now, then)` takes it from one to the next, and `on_step` sees it there."""
    for done, (now, then) in enumerate(pairwise(times), start=1):
        x = step(x, now, then)
        if on_step:
            on_step(done, x)
    return x


def fresh_noise(x: Tensor, generator: torch.Generator) -> Tensor:
    """Standard normal values like `x`, from `generator`."""
    return torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)
