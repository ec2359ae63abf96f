"""The GDP accountant: a central-limit approximation, exact where nothing is subsampled. Not a bound otherwise."""

import math
from collections.abc import Callable
from typing import Any

from scipy.special import ndtr

from workbench.errors import RefusedError
from workbench.privacy.accounting.accountants.mechanisms import Composition, ExactGaussian, FixedBatchGaussian, SampledGaussian, Unbounded
from workbench.privacy.accounting.gaussian import gdp_epsilon


def epsilon(composition: Composition, delta: float) -> float:
    """Epsilon at `delta` of the Gaussian limit of `composition`; refuses mechanisms without a limit in our notes."""
    return gdp_epsilon(total_mu(composition), delta)


def total_mu(composition: Composition) -> float:
    """mu of the whole: the root of the sum of squares."""
    return math.sqrt(sum(_squared_mu(mechanism, count) for mechanism, count in composition.items()))


def is_exact(composition: Composition) -> bool:
    """Whether the whole is exactly mu-GDP, so that the value is a bound."""
    return all(isinstance(mechanism, ExactGaussian) for mechanism in composition)


def _squared_mu(mechanism: Any, count: int) -> float:
    limit = LIMITS.get(type(mechanism))
    if limit is None:
        raise RefusedError(f"The GDP accountant knows no central limit for {type(getattr(mechanism, 'event', mechanism)).__name__}.")
    return limit(mechanism, count)


def _exact(mechanism: ExactGaussian, count: int) -> float:
    return count * mechanism.mu**2


def _sampled(mechanism: SampledGaussian, count: int) -> float:
    """q^2 T (e^{1/sigma^2} - 1) (Bu, Dong, Long and Su 2020)."""
    return mechanism.sample_rate**2 * count * _expm1(mechanism.noise_multiplier**-2)


def _fixed_batch(mechanism: FixedBatchGaussian, count: int) -> float:
    """2 g^2 N (e^{mu^2} Phi(1.5 mu) + 3 Phi(-.5 mu) - 2), the limit without replacement and replace-one (Dong et al. 2022)."""
    mu, rate = mechanism.mu, mechanism.batch_size / mechanism.num_records
    growth = (_expm1(mu * mu) + 1.0) * float(ndtr(1.5 * mu)) + 3.0 * float(ndtr(-0.5 * mu)) - 2.0
    growth = mu * mu / 2 if mu < 1e-3 else growth  # the first term of its series, where the closed form cancels
    return 2.0 * rate**2 * count * growth


def _unbounded(mechanism: Unbounded, count: int) -> float:
    return math.inf


def _expm1(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700 else math.inf


LIMITS: dict[type, Callable[[Any, int], float]] = {
    ExactGaussian: _exact,
    SampledGaussian: _sampled,
    FixedBatchGaussian: _fixed_batch,
    Unbounded: _unbounded,
}
