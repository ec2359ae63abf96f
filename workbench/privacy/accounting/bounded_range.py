"""The privacy profile of what has a bounded range: a loss that lies in an interval of known length, wherever the interval is.

One choice has a closed form. Of k choices that follow each other adaptively the largest delta obeys a recursion (Dong, Durfee and Rogers
2020): the adversary picks where the interval of the next one lies after what came before. It is carried out on a grid, from above.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CELLS = 64  # of the grid in a range: each adds about its square over four to a variance of range^2 / 4 a step
NEGLIGIBLE = 1e-24
MOST_CHOICES = 32  # in a block; blocks compose as any mechanisms do
EPS = float(np.finfo(np.float64).eps)


def bounded_range_delta(range_: float, epsilon: Floats) -> Floats:
    """The largest delta at each `epsilon`, of either sign, that a mechanism of this range > 0 can have.

    With losses in [t - r, t] the worst has these two alone: delta_t(eps) = (e^-t - e^-r)(e^t - e^eps)/(1 - e^-r) between them. That
    is largest at t = (eps + r)/2, where it is (1 - e^((eps - r)/2))^2 / (1 - e^-r).
    Source: Dong, Durfee and Rogers (2020).
    """
    inside = np.expm1((np.clip(epsilon, -range_, range_) - range_) / 2) ** 2 / -np.expm1(-range_)
    return np.where(epsilon >= range_, 0.0, np.where(epsilon <= -range_, -np.expm1(np.minimum(epsilon, 0.0)), inside))


def adaptive_delta(range_: float, count: int, epsilon: Floats) -> Floats:
    """The largest delta at each `epsilon`, of either sign, of `count` adaptive choices of this range > 0; from above, exact for one.

    As the largest of profiles it is one. A pair that has it dominates all such choices, whatever comes before, between and after
    (docs/proofs.md, section 10). Between the grid's points it is a chord in e^epsilon, never below a convex function.
    """
    if count == 1:
        return bounded_range_delta(range_, epsilon)
    step, deltas = range_ / CELLS, adaptive_grid(range_, count)
    place = np.minimum(np.abs(epsilon) / step, len(deltas) - 1)
    low = np.minimum(place.astype(np.int64), len(deltas) - 2)
    share = np.expm1((place - low) * step) / math.expm1(step)
    interpolated = ((1 - share) * deltas[low] + share * deltas[low + 1]) * (1 + 8 * EPS)
    return np.where(epsilon >= 0, interpolated, -np.expm1(np.minimum(epsilon, 0.0)) + np.exp(np.minimum(epsilon, 0.0)) * interpolated)


def reach(range_: float, count: int) -> float:
    """An epsilon beyond which delta is 0 or below NEGLIGIBLE, a whole number of cells: Hoeffding's inequality for the loss's martingale."""
    tail = count * range_**2 / 8 + range_ * math.sqrt(count / 2 * math.log(1 / NEGLIGIBLE))
    return range_ / CELLS * min(count * CELLS, math.ceil(tail / range_ * CELLS))


@lru_cache(maxsize=64)
def adaptive_grid(range_: float, count: int) -> Floats:
    """`adaptive_delta` at 0, 1, .. cells up to `reach`."""
    step = range_ / CELLS
    size = round(reach(range_, count) / step) + 1
    deltas = np.zeros(size)
    for _ in range(count):
        deltas = _one_more(deltas, range_, size == count * CELLS + 1)
    return deltas


def _one_more(deltas: Floats, range_: float, is_whole: bool) -> Floats:
    """delta_k(eps) = max over t in [0, r] of P_t delta_{k-1}(eps - t) + (1 - P_t) delta_{k-1}(eps - t + r), from above.

    P_t = (1 - e^(t - r)) / (1 - e^-r). Within a cell of the grid delta_{k-1} is a chord in e^eps at both places, and what is
    maximised is a constant less A e^-t and B e^t: at its largest where both are equal, or at the cell's end.
    """
    step, size = range_ / CELLS, len(deltas)
    epsilon = np.arange(-CELLS - 1, size + CELLS) * step
    beyond = np.full(CELLS, 0.0 if is_whole else deltas[-1])
    mirrored = -np.expm1(epsilon[: CELLS + 1]) + np.exp(epsilon[: CELLS + 1]) * np.append(deltas, beyond)[CELLS + 1 : 0 : -1]
    known = np.concatenate([mirrored, deltas, beyond])  # at all of `epsilon`
    growth = np.expm1(step) * np.exp(epsilon[:-1])
    slopes = np.diff(known) / growth
    starts = known[:-1] - slopes * np.exp(epsilon[:-1])
    rising, falling = slopes[CELLS:] - slopes[:-CELLS], starts[:-CELLS] - starts[CELLS:]
    with np.errstate(divide="ignore", invalid="ignore"):
        balance = np.nan_to_num(np.log(np.maximum(rising, 0.0)) - np.log(np.maximum(falling, 0.0)), nan=0.0, posinf=1e3, neginf=-1e3)
    best = np.zeros(size)
    for apart in range(1, CELLS + 1):  # t lies between apart - 1 and apart cells
        low = np.arange(size) + CELLS + 1 - apart  # the chord that eps - t is on
        at, over = epsilon[CELLS + 1 : CELLS + 1 + size], epsilon[low]
        inside = np.clip(at - over - (at + range_ + balance[low]) / 2, 0.0, step)
        share = np.expm1(inside) / math.expm1(step)
        upper = np.expm1(apart * step - inside - range_) / math.expm1(-range_)
        left = (1 - share) * known[low] + share * known[low + 1]
        right = (1 - share) * known[low + CELLS] + share * known[low + CELLS + 1]
        best = np.maximum(best, upper * left + (1 - upper) * right)
    slack = 64 * EPS / -math.expm1(-range_) * known[:size]  # of the place's rounding: delta at a range and more below
    return np.minimum(1.0, best * (1 + 16 * EPS) + slack)
