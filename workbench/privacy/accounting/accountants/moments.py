"""Moments of sampled Gaussians: under Poisson sampling by quadrature, from above; without replacement by the published series."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
TAIL = 13.0  # standard deviations
BEYOND_TAIL = 7e-39  # Phi(-13) is 6.2e-39
QUADRATURE = 1e-60  # of the integral of the modulus: the trapezoid rule's error is below 2 e^(-152)
SMALL_MOMENT = 1e-3  # logarithm of a moment below which the moment less one is integrated instead
SERIES = 14  # terms; each is less than a tenth of the one before
LARGE_GROWTH = 30.0  # a log(1 + x) beyond which 1 + a x is left on, upward
MOST_POINTS = 4e6
MOST_CENTRAL = 256  # the largest order whose terms are bounded by central moments too
LARGEST_CENTRAL_MU = 3.0  # beyond it they bound nothing: E (L - 1)^k > E L^k / 2 for all k >= 2, by Minkowski's inequality


def sampled_gaussian(sample_rate: float, noise_multiplier: float, orders: Floats) -> Floats:
    """Upper bounds of log A_a / (a - 1) for ascending orders a > 1, sample_rate q in (0, 1), noise_multiplier sigma > 0.

    A_a = E[(1 + q (L - 1))^a], L = e^{u/sigma - 1/(2 sigma^2)}, u ~ N(0, 1) (Mironov, Talwar and Zhang 2019). Never above
    a/(2 sigma^2), which holds without sampling; that is returned where the grid would be too large.
    The integrand is analytic for |Im u| < pi sigma, where its modulus is at most e^{(Im u)^2/2} times that of the real axis, so
    the trapezoid rule errs by less than QUADRATURE of that modulus. Tails: `_moment_less_one`.
    """
    unsampled = orders / (2 * noise_multiplier**2)
    step = min(0.125, noise_multiplier / 8)
    reach = (orders[-1] + 2) / noise_multiplier + TAIL
    if reach / step * len(orders) > MOST_POINTS:
        return unsampled
    grid = np.arange(-TAIL, reach + step, step)
    log_moment = _log_moment(sample_rate, noise_multiplier, orders, grid, step)
    small = log_moment < SMALL_MOMENT
    if small.any():
        log_moment[small] = np.log1p(_moment_less_one(sample_rate, noise_multiplier, orders[small], grid, step))
    return np.minimum(log_moment * (1 + 8 * EPS) / (orders - 1), unsampled)


def _log_moment(q: float, sigma: float, orders: Floats, grid: Floats, step: float) -> Floats:
    """log A_a from above, exact to rounding where A_a is not near 1."""
    log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + grid / sigma - 0.5 / sigma**2)
    exponent = orders[:, None] * log_ratio - grid**2 / 2  # (orders, grid)
    top = exponent.max(axis=1)
    weights = np.exp(exponent - top[:, None])
    total = weights.sum(axis=1)
    size = weights @ (np.abs(grid) / sigma + grid**2) / total + 0.5 / sigma**2 - math.log(q) + 1.0
    rounding = 8 * EPS * (orders * size + len(grid))
    return top + np.log((total + weights[:, -1] / (12 * step)) * step / math.sqrt(2 * math.pi)) + rounding


def _moment_less_one(q: float, sigma: float, orders: Floats, grid: Floats, step: float) -> Floats:
    """A_a - 1 from above: E[(1 + x)^a - 1 - a x] with x = q (L - 1), as E[x] = 0; the integrand is never negative.

    Left of the grid -q <= x < 0, where the integrand is at most a q and at most a(a-1)/2 q^2/(1-q). Right of it the logarithm of
    integrand and density falls at a slope of at least 12, so the rest is at most a twelfth of the last value.
    Rounding: where the integrand has weight, |log L| is at most about 1/sigma^2 + 2 log(1/q), and a log(1 + x) errs by some eps a
    times that; near order 1 the difference (1 + x)^a - 1 - a x cancels to a share of a - 1.
    """
    loss = grid / sigma - 0.5 / sigma**2
    log_ratio = np.where(loss < 1.0, np.log1p(q * np.expm1(np.minimum(loss, 1.0))), np.logaddexp(math.log1p(-q), math.log(q) + loss))
    growth = orders[:, None] * log_ratio  # (orders, grid)
    x = q * np.expm1(np.minimum(loss, 700.0))
    values = _beyond_first_order(x, orders, np.minimum(growth, LARGE_GROWTH)) * np.exp(-(grid**2) / 2)
    values = np.where(growth < LARGE_GROWTH, values, np.exp(np.maximum(growth, 0.0) - grid**2 / 2)) / math.sqrt(2 * math.pi)
    left = np.minimum(orders * q, orders * (orders - 1) / 2 * q * q / (1 - q)) * BEYOND_TAIL
    rounding = 64 * EPS * (1 + orders + 1 / (orders - 1)) * (1 + 1 / sigma**2 - math.log(q)) + 4 * EPS * len(grid)
    total = values.sum(axis=1) * step + values[:, -1] / 12 + left
    return total * (1 + rounding) + QUADRATURE * (2 + SMALL_MOMENT + 2 * orders * q)


def _beyond_first_order(x: Floats, orders: Floats, growth: Floats) -> Floats:
    """(1 + x)^a - 1 - a x for all orders (rows) and x > -1 (columns), by its series where a x is small; growth is a log(1 + x)."""
    a = orders[:, None]
    inner = np.ones(np.broadcast_shapes(a.shape, x.shape))
    near = np.where((np.abs(x) * a < 0.1), x, 0.0)
    for k in range(SERIES, 2, -1):
        inner = 1 + (a - k + 1) / k * near * inner
    return np.where(np.abs(x) * a < 0.1, a * (a - 1) / 2 * near**2 * inner, np.maximum(np.expm1(growth) - a * x, 0.0))


def fixed_batch(sample_rate: float, mu: float, orders: Floats) -> Floats:
    """log A_a at ascending whole orders a >= 2, all up to 256 or all beyond: drawn without replacement, replace-one.

    Theorem 27 of Wang, Balle and Kasiviswanathan (2019), with the choices of dp-accounting, for all orders at once.
    """
    mu = max(mu, 1e-100)  # upward, so that its square is a number
    i = np.arange(2.0, orders[-1] + 1)
    unsampled = i * (i - 1) * mu * mu / 2
    terms = math.log(2) + unsampled
    if orders[-1] <= MOST_CENTRAL and mu < LARGEST_CENTRAL_MU:
        central = _log_central_moments(mu, int(orders[-1]) // 2 + 1)
        terms = np.minimum(terms, math.log(4) + 0.5 * (central[np.floor(i / 2).astype(int) - 1] + central[np.ceil(i / 2).astype(int) - 1]))
    terms[0] = min(math.log(4) + mu * mu + math.log(-math.expm1(-mu * mu)), math.log(2) + mu * mu)
    a = orders[:, None]
    chosen = gammaln(a + 1) - gammaln(i + 1) - gammaln(np.maximum(a - i, 0.0) + 1) + i * math.log(sample_rate) + terms
    return np.logaddexp.reduce(np.where(i <= a, chosen, -np.inf), axis=1, initial=0.0)


def _log_central_moments(mu: float, count: int) -> Floats:
    """log E (L - 1)^k for the first `count` even k, L = e^{mu u - mu^2/2}, u ~ N(0, 1): sums of positive numbers.

    (L - 1)^k is a sum of powers of L, of which the trapezoid rule takes each to within e^(-2 pi^2/step^2) of it, e^-1263. On either
    side of L = 1 the integrand is log-concave like the density itself, and its modes lie TAIL within the ends of the grid.
    """
    k = 2.0 * np.arange(1, count + 1)
    root = math.sqrt(k[-1])
    grid = np.arange(-root - TAIL, k[-1] * mu + root + mu + TAIL, 0.125)
    loss = mu * grid - mu * mu / 2
    with np.errstate(divide="ignore"):
        size = np.maximum(loss, 40.0) - 40.0 + np.log(np.abs(np.expm1(np.minimum(loss, 40.0))))
    exponent = k[:, None] * size - grid**2 / 2  # (orders, grid)
    top = exponent.max(axis=1)
    return top + np.log(np.exp(exponent - top[:, None]).sum(axis=1) * 0.125 / math.sqrt(2 * math.pi))
