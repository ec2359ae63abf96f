"""Guidance: steering a sampler by labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor


Model: TypeAlias = "Callable[[Tensor, Tensor, Tensor | None], Tensor]"  # (x_t, t, label rows or None) -> model output


def classifier_free(model: Model, labels: Tensor | None, guidance_scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """The model output (1 + w) conditional - w unconditional as a function of (x_t, t) (Ho and Salimans 2022, eq. 6).

    `labels` int64 (B,) are embedding rows: 0 unconditional, class c is row c + 1; None is unconditional throughout.
    Without labels or with w = `guidance_scale` = 0 the model is called once, otherwise twice. Epsilon and v alike:
    both are affine in each other at a given x_t.
    """

    def guided(x_t: Tensor, t: Tensor) -> Tensor:
        conditional = model(x_t, t, labels)
        if labels is None or guidance_scale == 0.0:
            return conditional
        return (1.0 + guidance_scale) * conditional - guidance_scale * model(x_t, t, None)

    return guided
