"""Ghost norms: the norm of a record's sum of outer products from Gram matrices, without the sum itself."""

import torch
from torch import Tensor


def gram(values: Tensor) -> Tensor:
    """Inner products of the positions of (R, T, C) values, float64 (R, T, T).

    In float64, for they are multiplied and summed with either sign: what float32 loses when they cancel is not small
    beside the norm, which would then come out too short and let a gradient through at more than the clipping norm.
    """
    exact = values.double()
    return torch.bmm(exact, exact.transpose(1, 2))


def squared_ghost_norms(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """At least the squared norm of each record's sum over p of u_p v_p^T, as `dtype` computes it; (R,) in `dtype`.

    `left` and `right` are the Gram matrices (R, T, T) of u and v. The exact square is sum_{p,q} <u_p, u_q> <v_p, v_q>. The
    sum that is clipped by it is taken in `dtype`, where rounding moves it by some units of sum_p |u_p| |v_p|: two units of
    the square of that are added.
    """
    diagonals = left.diagonal(dim1=1, dim2=2).clamp(min=0) * right.diagonal(dim1=1, dim2=2).clamp(min=0)
    exact = (left * right).sum((1, 2)).clamp(min=0)
    return (exact + 2 * torch.finfo(dtype).eps * diagonals.sqrt().sum(1).square()).to(dtype)
