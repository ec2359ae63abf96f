"""Whether records may share a private pass, and what is refused where one of them does not give the same alone and in company."""

from collections.abc import Callable

import torch
from torch import Tensor

from workbench.errors import WorkbenchError
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import ClippedSum, PerRecordGradients
from workbench.training.row_losses import RowLosses

Losses = Callable[[Microbatch], Tensor]

MIXED = (
    "Expected a record's loss to depend on that record and the microbatch's draws alone, but it changed with the rest of the batch. "
    "Remove what mixes records, keeps something of them, or draws random numbers of its own (dropout, say)."
)


def mixing_possible(gradients: PerRecordGradients, losses: Losses) -> str | None:
    """Why the losses of a microbatch's records might depend on each other; None where they cannot."""
    if type(losses) is not RowLosses:
        return "the losses are a function of whole microbatches"
    if losses.network is not gradients.module:  # pyright: ignore[reportFunctionMemberAccess]
        return "the losses are those of another network"
    return gradients.mixing_possible()


def check_repeated(first: ClippedSum, again: ClippedSum, why: str | None) -> None:
    """Refuse a record whose loss or gradient was another before the rest of its batch than after it."""
    tolerance = 0.0 if first.losses.device.type == "cpu" else 1e-3  # a GPU repeats nothing bit for bit
    pairs = [(first.losses, again.losses), (first.norms, again.norms)]
    if not all(torch.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True) for one, other in pairs):
        raise WorkbenchError(f"{MIXED} It was asked twice because {why}.")


def check_independent(alone: Tensor, together: Tensor) -> None:
    """Refuse losses of a record (K,) that change with what else is in the batch: no clipping would bound its influence."""
    tolerance = 0.05 if together.dtype == torch.bfloat16 else 1e-3
    if not torch.allclose(alone, together, rtol=tolerance, atol=tolerance, equal_nan=True):
        raise WorkbenchError(MIXED)
