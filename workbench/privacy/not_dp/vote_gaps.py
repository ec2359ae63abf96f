"""What PATE's analyses say of released argmaxes by the true votes behind them: values that depend on the records.

Where teachers agree, a noisy argmax seldom tells anything else than it would without one of them, and these formulas charge less than the
worst case. But one teacher near a tie moves the value, so it is no differential privacy and must not be shown, nor may a run stop by it.
They hold for an argmax alone, and not for noisy counts or vectors. Sources: Papernot et al. (2017), Theorem 3 for Laplace
noise; Papernot et al. (2018), Theorem 6 and Proposition 7 for Gaussian noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from workbench.errors import check_delta

Floats = NDArray[np.float64]
NOT_RELEASABLE = "depends on the records: not releasable"
MOMENTS = np.arange(1.0, 101.0)  # orders of Papernot et al. (2017)
ORDERS = np.concatenate([np.arange(1.1, 11.0, 0.1), np.arange(11.0, 512.0)])
AT_ONCE = 4096  # chances whose costs are held in memory together


@dataclass(frozen=True)
class VoteGapEpsilon:
    """An epsilon by the true votes, for whoever holds the records, beside what the same releases cost at worst by the same formulas."""

    epsilon: float
    worst_case: float
    delta: float
    queries: int
    mark: str = NOT_RELEASABLE


def gaps(counts: np.ndarray) -> Floats:
    """How far each other choice is behind the first one: votes (Q, m) to (Q, m - 1), all at least 0."""
    falling = -np.sort(-counts.astype(np.float64), axis=1)
    return falling[:, :1] - falling[:, 1:]


def gnmax_error(counts: np.ndarray, deviation: float) -> Floats:
    """At least the chance (Q,) that votes (Q, m) with Gaussian noise of `deviation` have another argmax (2018, Proposition 7)."""
    return 0.5 * erfc(gaps(counts) / (2.0 * deviation)).sum(axis=1)


def pure_moments(error: Floats, epsilon: float, orders: Floats = MOMENTS) -> Floats:
    """Log-moments (Q, l) of choices that are (epsilon, 0)-DP and with chance at most `error` (Q,) another than the likeliest.

    The smaller of epsilon^2 l (l + 1) / 2, which depends on nothing, and the value by the chance where that holds (2017, Theorem 3).
    """
    worst = np.broadcast_to(0.5 * epsilon**2 * orders * (orders + 1.0), (len(error), len(orders)))
    holds = error < math.expm1(epsilon) / math.expm1(2.0 * epsilon)
    chance = np.where(holds, error, 0.0)[:, None]
    likely = np.log1p(-chance) + orders * (np.log1p(-chance) - np.log1p(-math.exp(epsilon) * chance))
    with np.errstate(divide="ignore"):
        moments = np.logaddexp(likely, np.log(chance) + epsilon * orders)
    return np.where(holds[:, None], np.minimum(worst, np.maximum(moments, 0.0)), worst)


def gnmax_rdp(error: Floats, deviation: float, orders: Floats = ORDERS) -> Floats:
    """RDP (Q, a) of Gaussian noisy argmaxes that differ from the likeliest with chance at most `error` (Q,).

    The smaller of a / deviation^2, which depends on nothing, and the value by the chance where that holds (2018, Theorem 6).
    """
    worst = np.broadcast_to(orders / deviation**2, (len(error), len(orders)))
    chance = np.clip(error, 1e-300, 1.0)
    lower = deviation * np.sqrt(-np.log(chance))  # mu_2 of the theorem; mu_1 is one more
    usable = lower > 1.0 + 1e-9
    two = np.where(usable, lower, 2.0)
    one, log_error = two + 1.0, np.log(chance)
    cost_one, cost_two = one / deviation**2, two / deviation**2
    usable &= (log_error <= (two - 1.0) * cost_two - two * np.log(one / (one - 1.0) * two / (two - 1.0))) & (-log_error > cost_two)
    with np.errstate(all="ignore"):
        shrunk = -np.expm1((log_error + cost_two) * (two - 1.0) / two)  # 1 - (q e^{e2})^{(m2 - 1) / m2}
        log_a = np.log1p(-chance) - np.log(shrunk)
        log_b = cost_one - log_error / (one - 1.0)
        raised = np.logaddexp(
            np.log1p(-chance)[:, None] + np.outer(log_a, orders - 1.0), log_error[:, None] + np.outer(log_b, orders - 1.0)
        ) / (orders - 1.0)
    holds = usable[:, None] & (orders <= one[:, None]) & np.isfinite(raised)
    return np.where(holds, np.minimum(worst, np.maximum(raised, 0.0)), worst)


def moments_epsilon(moments: Floats, delta: float, orders: Floats = MOMENTS) -> float:
    """Epsilon of log-moments (l,) of everything together: min over l of (moment + log(1/delta)) / l."""
    check_delta(delta)
    return float(np.min((moments + math.log(1.0 / delta)) / orders))


def rdp_epsilon(rdp: Floats, delta: float, orders: Floats = ORDERS) -> float:
    """Epsilon of RDP (a,) of everything together: min over a of rdp + log(1/delta) / (a - 1)."""
    check_delta(delta)
    return float(np.min(rdp + math.log(1.0 / delta) / (orders - 1.0)))


def by_laplace(error: Floats, epsilon: float, delta: float) -> VoteGapEpsilon:
    """Of argmaxes that are (epsilon, 0)-DP each, by the chance (Q,) that noise turned each."""
    worst = len(error) * 0.5 * epsilon**2 * MOMENTS * (MOMENTS + 1.0)
    moments = _summed(lambda part: pure_moments(part, epsilon), error)
    return VoteGapEpsilon(moments_epsilon(moments, delta), moments_epsilon(worst, delta), delta, len(error))


def by_gaussian(error: Floats, deviation: float, delta: float, beside: Floats | float = 0.0, unanswered: int = 0) -> VoteGapEpsilon:
    """Of Gaussian noisy argmaxes by the chance (Q,) that noise turned each.

    `beside` is the RDP (a,) of what else is released, such as the tests that decide which queries are answered (2018, Confident-GNMax);
    the `unanswered` queries cost no more than that, and at worst as much as answered ones.
    """
    queries = len(error) + unanswered
    worst, rdp = queries * ORDERS / deviation**2 + beside, _summed(lambda part: gnmax_rdp(part, deviation), error) + beside
    return VoteGapEpsilon(rdp_epsilon(rdp, delta), rdp_epsilon(worst, delta), delta, queries)


def _summed(cost: Callable[[Floats], Floats], error: Floats) -> Floats:
    """The costs (Q, a) of chances (Q,), summed over these: equal ones are computed once, and few at a time."""
    chances, times = np.unique(error, return_counts=True)
    parts = range(0, len(chances), AT_ONCE)
    return sum((times[at : at + AT_ONCE] @ cost(chances[at : at + AT_ONCE]) for at in parts), np.zeros(()))
