"""What an epsilon means: error trade-offs of the best attack, its true-positive rate, posterior belief."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

Floats = NDArray[np.float64]
PROFILE_POINTS = 400


def dp_tradeoff(epsilon: float, delta: float, alpha: ArrayLike) -> Floats:
    """Least type II error of any test of type I error `alpha` under (epsilon, delta)-DP.

    max(0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)) (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2017).
    """
    alpha = _errors(alpha)
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise WorkbenchError(f"Expected epsilon >= 0 and delta in [0, 1], got {epsilon} and {delta}.")
    if math.isinf(epsilon):
        return np.zeros_like(alpha)
    steep = 1 - delta - np.exp(np.minimum(epsilon, 700.0)) * alpha
    return np.maximum.reduce([np.zeros_like(alpha), steep, math.exp(-epsilon) * (1 - delta - alpha)])


def gdp_tradeoff(mu: float, alpha: ArrayLike) -> Floats:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), the trade-off of mu-GDP (Dong, Roth and Su 2022)."""
    from scipy.special import ndtr, ndtri

    if not mu >= 0:
        raise WorkbenchError(f"Expected mu >= 0, got {mu}.")
    return np.asarray(ndtr(-ndtri(_errors(alpha)) - mu), dtype=np.float64)


def event_tradeoff(stages: "Sequence[Stage]", alpha: ArrayLike) -> Floats:
    """A lower bound on the type II error of any attack on all stages together, from their privacy loss distribution.

    The largest of the (eps, delta(eps)) trade-offs over the pessimistic profile; 0 where the composition has no finite bound.
    Raises RefusedError where the PLD accountant knows no distribution.
    """
    from workbench.privacy.accounting.accountants import pld
    from workbench.privacy.accounting.accountants.mechanisms import Unbounded
    from workbench.privacy.accounting.accountants.reading import mechanisms
    from workbench.privacy.accounting.bounds import shared_relation
    from workbench.privacy.accounting.sampler import sampler_distance
    from workbench.privacy.accounting.stages import compose

    alpha = _errors(alpha)
    composition = mechanisms(compose(stages), shared_relation(stages))
    if any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return np.zeros_like(alpha)
    distance = sampler_distance(stages)
    if not composition:
        return dp_tradeoff(0.0, min(1.0, 2 * distance), alpha)
    distribution = pld.distribution(composition, pld.curve_interval(composition, 1e-5))
    epsilons = np.linspace(0.0, pld.curve_reach(composition), PROFILE_POINTS)
    ideal = np.asarray(distribution.get_delta_for_epsilon(epsilons), dtype=np.float64)  # pyright: ignore[reportArgumentType]
    deltas = np.clip(ideal + (1 + np.exp(np.minimum(epsilons, 700.0))) * distance, 0.0, 1.0)
    curves = [dp_tradeoff(float(epsilon), float(delta), alpha) for epsilon, delta in zip(epsilons, deltas, strict=True)]
    return np.maximum.reduce(curves)


def best_true_positive_rate(type_2_error: ArrayLike) -> Floats:
    """1 - beta: the best attack's true-positive rate at the false-positive rate at which the trade-off was taken."""
    return 1 - np.asarray(type_2_error, dtype=np.float64)


def attack_rates(epsilon: float, delta: float, false_positive_rates: Sequence[float] = (0.001, 0.01, 0.1)) -> dict[float, float]:
    """The best attack's true-positive rate at each false-positive rate under (epsilon, delta)-DP."""
    rates = best_true_positive_rate(dp_tradeoff(epsilon, delta, np.array(false_positive_rates)))
    return {rate: float(value) for rate, value in zip(false_positive_rates, rates, strict=True)}


def posterior_belief(prior: ArrayLike, epsilon: ArrayLike) -> Floats:
    """The largest posterior of a fact about one record after any output: p e^eps/(p e^eps + 1 - p).

    For delta 0. With a larger delta single outcomes may tell more: (epsilon, delta)-DP bounds chances of sets of outcomes, not beliefs.
    """
    prior, epsilon = np.asarray(prior, dtype=np.float64), np.asarray(epsilon, dtype=np.float64)
    if np.any((prior <= 0) | (prior >= 1)) or np.any(epsilon < 0):
        raise WorkbenchError("Expected a prior in (0, 1) and epsilon >= 0.")
    return 1 / (1 + (1 - prior) / prior * np.exp(-epsilon))


def _errors(alpha: ArrayLike) -> Floats:
    values = np.asarray(alpha, dtype=np.float64)
    if np.any((values < 0) | (values > 1)):
        raise WorkbenchError("Expected error rates in [0, 1].")
    return values
