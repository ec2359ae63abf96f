"""Gaussian differential privacy: its privacy profile and the inverse, accurate in both tails."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from workbench.errors import WorkbenchError, check_delta

SMALL_MU = 1e-7  # below it the profile is lost in rounding


def gdp_delta(mu: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """delta(epsilon) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2) of mu-GDP, for any real epsilon.

    Source: Dong, Roth and Su (2022), Corollary 2.13.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    if mu == 0:
        return np.maximum(0.0, -np.expm1(epsilon))
    upper = log_ndtr(-epsilon / mu + mu / 2)
    lower = epsilon + log_ndtr(-epsilon / mu - mu / 2)
    return np.exp(upper) * -np.expm1(np.minimum(0.0, lower - upper))


def gdp_log_delta(mu: float, epsilon: float) -> float:
    """log delta(epsilon) of mu-GDP, finite far beyond the smallest float."""
    upper = float(log_ndtr(-epsilon / mu + mu / 2))
    lower = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return upper + math.log(max(-math.expm1(min(0.0, lower - upper)), 1e-300))


@lru_cache(maxsize=4096)
def gdp_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta under mu-GDP; infinite for mu = inf."""
    check_delta(delta)
    if mu < 0 or math.isnan(mu):
        raise WorkbenchError(f"Expected mu >= 0, got {mu}.")
    if math.isinf(mu):
        return math.inf
    if mu == 0 or math.erf(mu / math.sqrt(8)) * (1 + 1e-14) <= delta:  # the total variation distance
        return 0.0
    if mu < SMALL_MU:
        return mu * mu / 2 + mu * max(0.0, -float(ndtri(delta))) * (1 + 1e-12)  # as for large mu
    if mu > 1e3:
        return mu * mu / 2 - mu * float(ndtri(delta))  # the first term alone: an upper bound, within 2e-6 of the value
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-9  # Chernoff bound of the upper tail
    goal = math.log(delta) - 1e-13 - 1e-15 / mu  # less the rounding of the profile, a difference of near values for small mu
    return _root(lambda epsilon: gdp_log_delta(mu, epsilon) - goal, 0.0, high)


@lru_cache(maxsize=4096)
def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose mu-GDP implies (epsilon, delta)-DP."""
    check_delta(delta)
    if not 0.0 <= epsilon < math.inf:
        raise WorkbenchError(f"Expected a finite epsilon >= 0, got {epsilon}.")
    high = math.sqrt(2 * epsilon) + 10.0 + 2 * math.sqrt(2 * math.log(1 / delta))
    if delta > 0.5:
        high += 80.0
    return _root(lambda mu: gdp_log_delta(mu, epsilon) - math.log(delta), 1e-12, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, xtol=1e-13, rtol=1e-13))  # pyright: ignore[reportArgumentType]


def sampled_delta(sample_rate: float, mu: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Profile of a Poisson-sampled mu-GDP pair, the record present on the first side: ((1-q) Q + q P, Q), any real epsilon.

    q delta_mu(log(1 + (e^eps - 1)/q)) for eps > log(1 - q), 1 - e^eps below (Balle, Barthe and Gaboardi 2018).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    ratio = np.expm1(np.minimum(epsilon, 30.0)) / sample_rate
    with np.errstate(divide="ignore"):
        inner = np.log1p(np.maximum(ratio, -1.0))
    high = epsilon - math.log(sample_rate) + np.log1p((sample_rate - 1) * np.exp(-np.maximum(epsilon, 30.0)))
    inner = np.where(epsilon < 30.0, inner, high)
    inside = sample_rate * gdp_delta(mu, np.where(np.isfinite(inner), inner, 0.0))
    return np.where(np.isfinite(inner), inside, -np.expm1(np.minimum(epsilon, 0.0)))


def fixed_batch_delta(sample_rate: float, mu: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Profile of one release of a batch without replacement, replace-one, g = batch_size/num_records, for any real epsilon.

    g delta_mu(log(1 + (e^eps - 1)/g)) for eps >= 0 (Balle, Barthe and Gaboardi 2018; Dong, Roth and Su 2022, Theorem 4.2),
    and the same for the two sides exchanged.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    return two_sided(sampled_delta(sample_rate, mu, np.abs(epsilon)), epsilon)


def visible_batch_delta(sample_rate: float, mu: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Profile of a mu-GDP release that touches the record with chance `sample_rate`, visibly: q delta_mu(|eps|), two-sided."""
    epsilon = np.asarray(epsilon, dtype=np.float64)
    return two_sided(sample_rate * gdp_delta(mu, np.abs(epsilon)), epsilon)


def mixture_delta(sigma: float, sensitivities: ArrayLike, weights: ArrayLike, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Profile of (sum_i p_i N(c_i, sigma^2), N(0, sigma^2)) with c_i >= 0, for any real epsilon.

    The privacy loss rises with the output x, so delta is P(X > x) - e^eps Q(X > x) where the loss is epsilon; x is found by
    Newton's steps from a table, and as delta is largest there, an error of x enters squared.
    """
    c, p = np.asarray(sensitivities, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    epsilon = np.asarray(epsilon, dtype=np.float64)
    log_p = np.log(p)[:, None]

    def terms(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return log_p + (c[:, None] * x - c[:, None] ** 2 / 2) / sigma**2  # (components, points)

    table = np.linspace(-14 * sigma, c.max() + 14 * sigma, 4001)
    x = np.interp(epsilon, np.logaddexp.reduce(terms(table), axis=0), table)
    for _ in range(3):
        inside = terms(x)
        loss = np.logaddexp.reduce(inside, axis=0)
        slope = (np.exp(inside - loss) * c[:, None]).sum(axis=0) / sigma**2
        x = np.clip(x - (loss - epsilon) / np.maximum(slope, 1e-300), table[0], table[-1])
    present = (p[:, None] * ndtr((c[:, None] - x) / sigma)).sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        absent = np.exp(epsilon + log_ndtr(-x / sigma))
    return np.clip(np.maximum(present - absent, -np.expm1(epsilon)), 0.0, 1.0)


def two_sided(delta_of_size: NDArray[np.float64], epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """A symmetric profile at `epsilon` from its values at |epsilon|: 1 - e^eps + e^eps delta(-eps) for negative epsilon."""
    return np.where(epsilon >= 0, delta_of_size, exchanged_profile(delta_of_size, epsilon))


def exchanged_profile(delta_of_opposite: NDArray[np.float64], epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """The profile of a pair with its sides exchanged, from the values at -epsilon: 1 - e^eps + e^eps delta(-eps)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return -np.expm1(epsilon) + np.exp(epsilon) * delta_of_opposite
