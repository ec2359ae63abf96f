"""Data-parallel private training: each rank clips its share of the batch, the noise is added once, all sum."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist


def rank_and_size(group: dist.ProcessGroup | None) -> tuple[int, int]:
    """This process's rank and the number of processes of `group`; (0, 1) for None, a process of its own."""
    return (0, 1) if group is None else (dist.get_rank(group), dist.get_world_size(group))


def share_of(num_records: int, rank: int, size: int) -> np.ndarray:
    """Positions in the (union) batch that `rank` works on: an even, contiguous share."""
    return np.arange(num_records * rank // size, num_records * (rank + 1) // size)


def sum_over_ranks(tensors: Sequence[Tensor], group: dist.ProcessGroup | None) -> None:
    """Replace each tensor by its sum over the ranks, in place, in one exchange per dtype; nothing to do for None."""
    if group is None:
        return
    for dtype in {tensor.dtype for tensor in tensors}:
        mine = [tensor for tensor in tensors if tensor.dtype == dtype]
        flat = torch.cat([tensor.flatten() for tensor in mine])
        dist.all_reduce(flat, group=group)
        for tensor, summed in zip(mine, flat.split([tensor.numel() for tensor in mine]), strict=True):
            tensor.copy_(summed.view_as(tensor))
