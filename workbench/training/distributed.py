"""Data-parallel private training: each rank clips its share of the batch, all sum, the first adds the noise.

A script that `torchrun --nproc-per-node N script.py` starts on N devices makes every rank's state with the same group:

    torch.distributed.init_process_group()
    state = experiment.new_state(plan, performance, group=torch.distributed.group.WORLD)
    for step in experiment.fit(plan, dataset, state): ...

All ranks then hold the same model and the first rank's noise key; `spend` is given to one of them. Whatever draws no private
batch (public pre-training, phase one of dp-promise) each rank does for itself, from the same streams.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from workbench.errors import WorkbenchError
from workbench.training.randomness import Randomness


def rank_and_size(group: dist.ProcessGroup | None) -> tuple[int, int]:
    """This process's rank and the number of processes of `group`; (0, 1) for None, a process of its own."""
    return (0, 1) if group is None else (dist.get_rank(group), dist.get_world_size(group))


def process_group() -> dist.ProcessGroup | None:
    """The group of all processes that torchrun started, once it has been joined; None for a process of its own."""
    return dist.group.WORLD if dist.is_available() and dist.is_initialized() else None


def share_of(num_records: int, rank: int, size: int) -> np.ndarray:
    """Positions in the (union) batch that `rank` works on: an even, contiguous share."""
    return np.arange(num_records * rank // size, num_records * (rank + 1) // size)


def sum_over_ranks(tensors: Sequence[Tensor], group: dist.ProcessGroup | None) -> None:
    """Replace each tensor by its sum over the ranks, in place, in one exchange per dtype; nothing to do for None."""
    if group is None:
        return
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):  # in the same order on every rank
        mine = [tensor for tensor in tensors if tensor.dtype == dtype]
        flat = torch.cat([tensor.flatten() for tensor in mine])
        dist.all_reduce(flat, group=group)
        for tensor, summed in zip(mine, flat.split([tensor.numel() for tensor in mine]), strict=True):
            tensor.copy_(summed.view_as(tensor))


def shared_randomness(randomness: Randomness, group: dist.ProcessGroup | None) -> Randomness:
    """The first rank's noise key on every rank, so that all draw the same batches and noise; `randomness` itself for None."""
    return randomness if group is None else Randomness.from_checkpoint(shared_values(randomness.to_checkpoint(), group))


def shared_values(value: dict[str, Any], group: dist.ProcessGroup | None) -> dict[str, Any]:
    """The first rank's plain values on every rank; `value` itself for None."""
    values = [value]
    if group is not None:
        dist.broadcast_object_list(values, group_src=0, group=group)
    return values[0]


def share_parameters(module: nn.Module, group: dist.ProcessGroup | None) -> None:
    """Give every rank the first rank's parameters, for what came before may have been rounded differently."""
    share_tensors([parameter.data for parameter in module.parameters()], group)


def share_tensors(tensors: Sequence[Tensor], group: dist.ProcessGroup | None) -> None:
    """Give every rank the first rank's values, in place; nothing to do for None."""
    if group is None:
        return
    for tensor in tensors:
        dist.broadcast(tensor, group_src=0, group=group)


def check_same_key(randomness: Randomness, group: dist.ProcessGroup | None) -> None:
    """Refuse ranks with different noise keys: they would draw different batches, and no bound would hold."""
    if group is None:
        return
    size = dist.get_world_size(group)
    drawn: list[int] = [0] * size
    dist.all_gather_object(drawn, int(randomness.stream("the ranks' keys").integers(0, 2**63 - 1)[0]), group=group)
    if len(set(drawn)) > 1:
        raise WorkbenchError(
            f"Expected one noise key on all {size} ranks, got {len(set(drawn))}: share the first rank's (shared_randomness)."
        )
