"""Entropic optimal transport between two clouds of labelled images, in logarithms (Cuturi 2013; Feydy et al. 2019)."""

import math

import torch
from torch import Tensor

HALVINGS = 40  # of the blur from the largest cost on, at most


def costs(ones: Tensor, others: Tensor, rows: Tensor, other_rows: Tensor, absolute: float, label_weight: float) -> Tensor:
    """||x - y||_2^2 + m ||x - y||_1 of images (N, ..) and (M, ..) to each of which its class, one-hot times a weight, is appended: (N, M).

    `rows` int64 (N,) and `other_rows` (M,) are classes, m is `absolute`. Two classes differ by the weight in two numbers (Cao et al.
    2021, eq. 9 and 10).
    """
    apart = ones.flatten(1)[:, None, :] - others.flatten(1)[None, :, :]  # (N, M, D)
    of_labels = 2.0 * label_weight * (label_weight + absolute)
    other_class = (rows[:, None] != other_rows[None, :]).to(apart.dtype)
    return apart.square().sum(dim=2) + absolute * apart.abs().sum(dim=2) + of_labels * other_class


@torch.no_grad()
def transport_plan(cost: Tensor, blur: float, iterations: int) -> Tensor:
    """The plan (N, M) between even weights that makes <plan, cost> + blur^2 KL(plan | product) small; columns sum to 1/M exactly.

    The entropy's weight falls from the largest cost by halves down to blur^2, with one update of both potentials at each, and there
    `iterations` more. Every finite cost is possible: nothing is exponentiated that is not at most 1.
    """
    size, others = cost.shape
    of_one, of_other = -math.log(size), -math.log(others)
    first, second = torch.zeros(size, dtype=cost.dtype, device=cost.device), torch.zeros(others, dtype=cost.dtype, device=cost.device)
    for weight in (*falling(float(cost.max()), blur**2), *[blur**2] * iterations):
        first = -weight * torch.logsumexp((second[None, :] - cost) / weight + of_other, dim=1)
        second = -weight * torch.logsumexp((first[:, None] - cost) / weight + of_one, dim=0)
    return torch.exp((first[:, None] + second[None, :] - cost) / blur**2 + of_one + of_other)


def falling(largest: float, least: float) -> list[float]:
    """`largest`, half of it, .. as long as that is above `least`."""
    count = max(0, math.ceil(math.log2(largest / least))) if 0 < largest < math.inf else 0
    return [largest * 0.5**number for number in range(min(count, HALVINGS))]


def transported(cost: Tensor, blur: float, iterations: int) -> Tensor:
    """<plan, cost> at the entropic plan, which is held fixed: its gradient is that of entropic transport, as the plan is optimal there."""
    return (transport_plan(cost.detach(), blur, iterations) * cost).sum()
