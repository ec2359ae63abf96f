"""What a mechanism is for g records in the place of one, where a form is proved: somebody's rows, or a group of people."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scipy.special import gammaln

from workbench.privacy.accounting.accountants.mechanisms import (
    BoundedRange,
    ExactGaussian,
    GaussianMixture,
    Mechanism,
    SampledGaussian,
    Unbounded,
)


def _exact(mechanism: ExactGaussian, group_size: int) -> Mechanism:
    return ExactGaussian(group_size * mechanism.mu)


def _sampled(mechanism: SampledGaussian, group_size: int) -> Mechanism:
    """How many of the group are drawn is Binomial(g, q); the mass of chances below 1e-18 is moved to all g, the worst."""
    q = mechanism.sample_rate
    chances = {k: math.exp(_log_binomial(group_size, k) + k * math.log(q) + (group_size - k) * math.log1p(-q)) for k in range(group_size)}
    kept = {k: chance for k, chance in chances.items() if chance > 1e-18}
    rest = max(0.0, 1.0 - math.fsum(kept.values())) if group_size <= 50 else max(1e-15, 1.0 - math.fsum(kept.values()))
    return GaussianMixture(mechanism.noise_multiplier, (*map(float, kept), float(group_size)), (*kept.values(), max(rest, q**group_size)))


def _log_binomial(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _ranged(mechanism: BoundedRange, group_size: int) -> Mechanism:
    """Every score moves by at most g times what one record moves it by, so the loss has g times the range."""
    return replace(mechanism, epsilon=group_size * mechanism.epsilon)


def _unbounded(mechanism: Unbounded, group_size: int) -> Mechanism:
    """What has no bound for one record has none for several."""
    return mechanism


GROUP_FORMS: dict[type, Callable[[Any, int], Mechanism]] = {
    ExactGaussian: _exact,
    SampledGaussian: _sampled,
    BoundedRange: _ranged,
    Unbounded: _unbounded,
}
