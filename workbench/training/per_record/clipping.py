"""From contributions to the clipped sum."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from workbench.training.per_record.contributions import Contribution, StoredGradient, by_record

MARGIN = 1e-6  # added to norms before division, as Opacus does

Clipping = tuple[Collection[nn.Parameter], float]  # parameters that are clipped together, and to which norm


def clip_groups(contributions: dict[nn.Parameter, Contribution], groups: Sequence[Clipping]) -> tuple[dict[nn.Parameter, Tensor], Tensor]:
    """`clip` over each group of parameters by itself; the norms (R,) are those over all of them. Empties `contributions`."""
    sums: dict[nn.Parameter, Tensor] = {}
    norms: list[Tensor] = []
    for parameters, max_grad_norm in groups:
        if mine := {p: contributions.pop(p) for p in list(contributions) if p in parameters}:
            clipped, over_group = clip(mine, max_grad_norm)
            sums |= clipped
            norms.append(over_group)
    assert not contributions, "every parameter is in a group"
    return sums, norms[0] if len(norms) == 1 else torch.stack(norms).norm(dim=0)


@torch.no_grad()
def clip(contributions: dict[nn.Parameter, Contribution], max_grad_norm: float) -> tuple[dict[nn.Parameter, Tensor], Tensor]:
    """The sum over records of gradients scaled down to norm `max_grad_norm`, by parameter, and the norms (R,) before.

    A record whose gradient is not finite counts as zero. `contributions` is emptied as it is summed, to give memory back.
    """
    small = {p: c for p, c in contributions.items() if isinstance(c, StoredGradient) and c.is_small}
    large = {p: contributions.pop(p) for p in list(contributions) if p not in small}
    joint = StoredGradient(torch.cat([by_record(c.gradient) for c in small.values()], dim=1)) if small else None
    pieces = [*large.values(), *([joint] if joint else [])]
    norms = torch.stack([piece.squared_norms.double() for piece in pieces]).sum(0).sqrt()
    factors = clipping_factors(norms, max_grad_norm)
    if not bool(norms.isfinite().all()):
        for piece in pieces:
            piece.erase(~norms.isfinite())
    del pieces
    sums = {p: large.pop(p).weighted_sum(factors) for p in list(large)}
    if joint:
        parts = joint.weighted_sum(factors).split([p.numel() for p in small])
        sums |= {p: part.view_as(p) for p, part in zip(small, parts, strict=True)}
    return {p: value.to(p.dtype) for p, value in sums.items()}, norms.to(next(iter(sums.values())).dtype)


def clipping_factors(norms: Tensor, max_grad_norm: float) -> Tensor:
    """What each gradient is multiplied by: at most 1, and 0 where the norm is not finite."""
    return (max_grad_norm / (norms + MARGIN)).clamp(max=1.0).where(norms.isfinite(), 0.0)
