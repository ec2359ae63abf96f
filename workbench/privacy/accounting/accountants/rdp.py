"""The RDP accountant: an upper bound at any order, over orders wide enough for very small and very large epsilon."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting.privacy_accountant import UnsupportedEventError
from dp_accounting.rdp import RdpAccountant
from numpy.typing import NDArray

from workbench.errors import RefusedError
from workbench.privacy.accounting.accountants.mechanisms import (
    BoundedRange,
    Composition,
    ExactGaussian,
    FixedBatchGaussian,
    GaussianMixture,
    LibraryEvent,
    SampledGaussian,
    Unbounded,
    VisibleGaussian,
    library_relation,
)
from workbench.privacy.accounting.accountants.moments import fixed_batch, sampled_gaussian

Orders = tuple[float, ...]
ROUNDING = 1e-10  # allowance for rounding, relative to a divergence
ROUNDING_OF_MOMENTS = 1e-14  # and absolute, on the logarithm of a moment taken near 1
SMALLEST_DIVERGENCE = 1e-300  # of anything private: nothing may underflow to a divergence of 0
SMALL_DISTANCE = 1e-4  # of a fixed-size batch: below it `ROUNDING_OF_MOMENTS` is not small against a moment less one
ORDER_BLOCKS: tuple[Orders, ...] = (
    tuple(1 + x for x in (0.001, 0.002, 0.003, 0.005, 0.007)) + tuple(1 + x / 100 for x in range(1, 100)),
    tuple(2 + x / 10 for x in range(90)),
    tuple(float(x) for x in range(11, 64)),
    tuple(float(x) for x in (64, 72, 80, 96, 112, 128, 160, 192, 224, 256)),
    tuple(float(x) for x in (320, 384, 448, 512, 640, 768, 896, 1024)),
    tuple(float(round(1024 * 2 ** (x / 4))) for x in range(1, 17)),
    tuple(float(round(16384 * 2 ** (x / 4))) for x in range(1, 25)),
)


def epsilon(composition: Composition, delta: float, blocks: int | None = None) -> float:
    """The smallest epsilon over all orders, or over the first `blocks` of them (still an upper bound, sooner).

    Later blocks are left out only where none of their orders can be smaller.
    """
    if any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return math.inf
    best = math.inf
    for block in ORDER_BLOCKS[:blocks]:
        divergence = sum((count * _divergence(mechanism, block) for mechanism, count in composition.items()), np.zeros(len(block)))
        if composition:
            divergence = np.maximum(divergence * (1 + ROUNDING), SMALLEST_DIVERGENCE)
        best = min(best, float(np.min(convert(np.array(block), divergence, delta))))
        last = block[-1]
        if best == 0.0 or divergence[-1] - (1 + math.log(last)) / (last - 1) >= best:
            break
    return best


def epsilon_at(composition: Composition, delta: float, order: float) -> float:
    """Epsilon by the divergence of one order alone, which was chosen before anything was released."""
    if any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return math.inf
    orders = (order,)
    divergence = sum((count * _divergence(mechanism, orders) for mechanism, count in composition.items()), np.zeros(1))
    if composition:
        divergence = np.maximum(divergence * (1 + ROUNDING), SMALLEST_DIVERGENCE)
    return float(convert(np.array(orders), divergence, delta)[0])


def convert(orders: NDArray[np.float64], divergence: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """Epsilon at every order: R + log(1 - 1/a) - log(delta a)/(a - 1), or 0 where the total variation is at most delta.

    A value below 0 certifies that too, as the bound on delta falls in epsilon; the rounding of each term is added to it.
    Sources: Canonne, Kamath and Steinke (2020), Proposition 12; Bretagnolle and Huber (1979) for the zero.
    """
    inner, outer = np.log1p(-1 / orders), (math.log(delta) + np.log(orders)) / (orders - 1)
    values = divergence + inner - outer + 1e-14 * (divergence + np.abs(inner) + np.abs(outer) + 1 / (orders - 1))
    apart = np.sqrt(-np.expm1(-divergence)) * (1 + 1e-14)
    return np.where(apart <= delta, 0.0, np.maximum(values, 0.0))


def _divergence(mechanism: Any, orders: Orders) -> NDArray[np.float64]:
    return DIVERGENCES[type(mechanism)](mechanism, orders)


def _exact(mechanism: ExactGaussian, orders: Orders) -> NDArray[np.float64]:
    return np.array(orders) * mechanism.mu**2 / 2


@lru_cache(maxsize=2048)
def _sampled(mechanism: SampledGaussian, orders: Orders) -> NDArray[np.float64]:
    """The Poisson-sampled Gaussian, by quadrature (`moments`)."""
    return sampled_gaussian(mechanism.sample_rate, mechanism.noise_multiplier, np.array(orders))


@lru_cache(maxsize=2048)
def _fixed_batch(mechanism: FixedBatchGaussian, orders: Orders) -> NDArray[np.float64]:
    """Replace-one without replacement (Wang, Balle and Kasiviswanathan 2019), no more than without sampling.

    Only whole orders are evaluated; (a-1) R(a) is convex in a and 0 at 1, so a chord is an upper bound between them.
    The logarithm of a moment that may round to 1 is taken, for which `ROUNDING_OF_MOMENTS` is added.
    At small distances: `_twice_sampled`.
    """
    alpha = np.array(orders)
    unsampled = alpha * mechanism.mu**2 / 2
    if alpha[-1] > 1024:
        return unsampled
    if mechanism.mu < SMALL_DISTANCE:
        return np.minimum(unsampled, _twice_sampled(mechanism, alpha))
    whole = sorted({math.floor(a) for a in orders if a >= 2} | {math.ceil(a) for a in orders})
    moments = fixed_batch(mechanism.batch_size / mechanism.num_records, mechanism.mu, np.array(whole, dtype=np.float64))
    knots = np.array([1.0, *whole])
    values = np.concatenate([[0.0], moments + ROUNDING_OF_MOMENTS])
    return np.minimum(unsampled, np.interp(alpha, knots, values) / (alpha - 1))


def _twice_sampled(mechanism: FixedBatchGaussian, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(1 + 2 (A_a - 1)) / (a - 1), with A_a the moment of the Poisson-sampled Gaussian of rate g = m/n and noise 1/mu.

    A moment less one is the integral of a(a-1) (x^{a-2} E_x(P, Q) + x^{-a-1} E_x(Q, P)) over x > 1 (Sason and Verdu 2016). Both
    hockey sticks E_x of the batch are at most that profile which the sampled Gaussian has at x > 1, and x^{-a-1} < x^{a-2}.
    """
    sampled = sampled_gaussian(mechanism.batch_size / mechanism.num_records, 1 / mechanism.mu, alpha)
    return np.log1p(2 * np.expm1((alpha - 1) * sampled)) / (alpha - 1)


def _visible(mechanism: VisibleGaussian, orders: Orders) -> NDArray[np.float64]:
    """log(1 - q + q e^{a(a-1) mu^2/2}) / (a - 1): the drawn set is part of the output."""
    alpha = np.array(orders)
    inside = alpha * (alpha - 1) * mechanism.mu**2 / 2
    q = mechanism.sample_rate
    large = np.logaddexp(math.log1p(-q), math.log(q) + inside)
    return np.where(inside < 1.0, np.log1p(q * np.expm1(np.minimum(inside, 1.0))), large * (1 + 1e-12) + 1e-14) / (alpha - 1)


def _bounded_range(mechanism: BoundedRange, orders: Orders) -> NDArray[np.float64]:
    """a epsilon^2 / 8, and never more than epsilon (Cesar and Rogers 2021)."""
    return np.minimum(np.array(orders) * mechanism.epsilon**2 / 8, mechanism.epsilon)


def _mixture(mechanism: GaussianMixture, orders: Orders) -> NDArray[np.float64]:
    raise RefusedError("The RDP accountant has no form for a group of records under Poisson sampling; the PLD accountant has.")


def _library(mechanism: LibraryEvent, orders: Orders) -> NDArray[np.float64]:
    accountant = RdpAccountant(orders, library_relation(mechanism.relation))
    try:
        accountant.compose(mechanism.event)
    except UnsupportedEventError as error:
        raise RefusedError(f"The RDP accountant refuses {type(mechanism.event).__name__} under {mechanism.relation}.") from error
    return accountant.rdp + ROUNDING_OF_MOMENTS / (np.array(orders) - 1)


DIVERGENCES: dict[type, Callable[[Any, Orders], NDArray[np.float64]]] = {
    ExactGaussian: _exact,
    SampledGaussian: _sampled,
    FixedBatchGaussian: _fixed_batch,
    VisibleGaussian: _visible,
    BoundedRange: _bounded_range,
    GaussianMixture: _mixture,
    LibraryEvent: _library,
}
