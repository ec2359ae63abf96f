"""Entropic optimal transport between two clouds of labelled images, in logarithms (Cuturi 2013; Feydy et al. 2019)."""

import math

import torch
from torch import Tensor

FALL, MOST_FALLS = 0.25, 20  # of the entropy's weight from one update to the next, and how often


def costs(ones: Tensor, others: Tensor, rows: Tensor, other_rows: Tensor, absolute: float, label_weight: float) -> Tensor:
    """||x - y||_2^2 + m ||x - y||_1 of images (N, ..) and (M, ..) to each of which its class, one-hot times a weight, is appended: (N, M).

    `rows` int64 (N,) and `other_rows` (M,) are classes, m is `absolute`. Two classes differ by the weight in two numbers (Cao et al.
    2021, eq. 9 and 10).
    """
    x, y = ones.flatten(1), others.flatten(1)
    squares = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)[None, :] - 2.0 * x @ y.T
    of_labels = 2.0 * label_weight * (label_weight + absolute)
    cost = squares + of_labels * (rows[:, None] != other_rows[None, :]).to(squares.dtype)
    return cost + absolute * torch.cdist(x, y, p=1.0) if absolute else cost


@torch.no_grad()
def transport_plan(cost: Tensor, blur: float, iterations: int, weights: Tensor | None = None) -> Tensor:
    """The plan (N, M) that makes <plan, cost> + blur^2 KL(plan | product of the weights) small.

    Rows have `weights` (N,) of sum 1, else even ones, as nearly as the updates get; columns sum to 1/M exactly. The entropy's weight falls
    from the largest cost by quarters down to blur^2, with one update of both potentials at each, and there are `iterations` (at least
    one) at the last. Every finite cost is possible: logarithms alone are added up.
    """
    size, others = cost.shape
    of_one = torch.full((size,), -math.log(size), dtype=cost.dtype, device=cost.device) if weights is None else weights.log()
    of_other = -math.log(others)
    first, second = torch.zeros(size, dtype=cost.dtype, device=cost.device), torch.zeros(others, dtype=cost.dtype, device=cost.device)
    for weight in (*falling_scales(float(cost.max()), blur**2), *[blur**2] * iterations):
        first = -weight * torch.logsumexp((second[None, :] - cost) / weight + of_other, dim=1)
        second = -weight * torch.logsumexp((first[:, None] - cost) / weight + of_one[:, None], dim=0)
    return torch.exp((first[:, None] + second[None, :] - cost) / blur**2 + of_one[:, None] + of_other)


def class_weights(rows: Tensor, other_rows: Tensor, classes: int) -> Tensor:
    """Weights (N,) of images by which every class has the share that it has of `other_rows` (M,), those of a class being alike.

    A class without an image here leaves its share to the others.
    """
    present, others = (torch.bincount(labels, minlength=classes).to(torch.float32) for labels in (rows, other_rows))
    weights = (others / present.clamp(min=1.0))[rows]
    total = weights.sum()
    return weights / total if total > 0 else torch.full_like(weights, 1.0 / len(weights))


def falling_scales(largest: float, least: float) -> list[float]:
    """`largest`, a quarter of it, .. as long as that is above `least`."""
    count = math.ceil(math.log(largest / least) / -math.log(FALL)) if least < largest < math.inf else 0
    return [largest * FALL**number for number in range(min(count, MOST_FALLS))]
