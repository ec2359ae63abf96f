"""The RDP accountant is an upper bound also where a moment is so near 1 that it used to round to it, and 0 is shown only with reason."""

import math
import random
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent, ZCDpEvent
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant

from workbench.privacy import event_bound
from workbench.privacy.accounting.accountants import rdp
from workbench.privacy.accounting.accountants.mechanisms import (
    ExactGaussian,
    FixedBatchGaussian,
    LibraryEvent,
    SampledGaussian,
    VisibleGaussian,
)
from workbench.privacy.accounting.accountants.moments import (
    _log_central_moments,
    fixed_batch,
    sampled_gaussian,
)
from workbench.privacy.accounting.gaussian import gdp_epsilon

SETTINGS = 240
ORDERS = (1.001, 1.05, 1.5, 2.0, 2.5, 5.0, 11.0, 32.0, 100.0)


def true_divergence(sample_rate: float, noise_multiplier: float, order: float) -> Any:
    """The divergence to 20 digits: the trapezoid rule in 40, whose error is below 1e-60 of the integral of the modulus."""
    with mpmath.workdps(40):
        q, sigma, a = mpmath.mpf(sample_rate), mpmath.mpf(noise_multiplier), mpmath.mpf(order)
        step, total = min(mpmath.mpf(1) / 10, sigma / 10), mpmath.mpf(0)
        for i in range(int(-18 / step), int((a / sigma + 18) / step) + 1):
            u = i * step
            x = q * mpmath.expm1(u / sigma - 1 / (2 * sigma**2))
            total += (mpmath.expm1(a * mpmath.log1p(x)) - a * x) * mpmath.exp(-u * u / 2)
        return mpmath.log1p(total * step / mpmath.sqrt(2 * mpmath.pi)) / (a - 1)


def looseness(sample_rate: float, noise_multiplier: float, order: float) -> float:
    """How far ours lies above the true divergence, relative to it; negative would be below."""
    ours, true = (
        sampled_gaussian(sample_rate, noise_multiplier, np.array([order]))[0],
        true_divergence(sample_rate, noise_multiplier, order),
    )
    with mpmath.workdps(40):
        return float((mpmath.mpf(float(ours)) - true) / true)


def bound(sample_rate: float, noise_multiplier: float, steps: int, delta: float) -> float:
    """The proved epsilon of DP-SGD."""
    step = PoissonSampledDpEvent(sample_rate, GaussianDpEvent(noise_multiplier))
    return event_bound(SelfComposedDpEvent(step, steps), delta, "REPLACE_SPECIAL").epsilon


def test_a_moment_near_one_is_not_lost() -> None:
    """Both gave a proved epsilon of 0; the Gaussian limit of the first is 1.83, the PLD of the second 4.4e-3."""
    first = rdp.epsilon({SampledGaussian(1e-8, 1.0): 10**15}, 1e-6)
    assert gdp_epsilon(1e-8 * math.sqrt(1e15 * math.expm1(1.0)), 1e-6) < first < 2.2
    assert rdp.epsilon({SampledGaussian(1e-6, 10.0): 10**5}, 1e-10) > 4.3e-3
    assert bound(1e-8, 1.0, 10**15, 1e-6) == first


@pytest.mark.parametrize("setting", [(1e-9, 1.0, 1.5), (1e-4, 0.6, 2.0), (0.3, 20.0, 11.0), (1e-11, 1.2, 64.0), (0.02, 0.7, 1.001)])
def test_divergences_are_true_upper_bounds(setting: tuple[float, float, float]) -> None:
    assert 0.0 <= looseness(*setting) < 1e-9


def test_rounding_is_allowed_for_where_rare_touches_carry_the_moment() -> None:
    """At a distance of 2 log(1/q) a logarithm loses digits by q and order: it was below the moment's binomial sum by 1e-9 of it."""
    sample_rate, order = 1e-100, 50_000
    noise_multiplier = math.sqrt(order * (order - 1) / 2 / (-9 - order * math.log(sample_rate)))
    assert 0.0 <= looseness_by_sum(sample_rate, noise_multiplier, order) < 1e-6


@pytest.mark.parametrize("setting", [(3e-200, 1.0, 930), (7e-220, 1.0, 1021), (7e-260, 1.0, 1207), (1e-100, 1.041, 500)])
def test_rounding_is_allowed_for_where_large_terms_cancel(setting: tuple[float, float, int]) -> None:
    """The terms of the exponent are some 10^4 times its value there: an allowance that does not grow with the order is below the sum."""
    assert 0.0 <= looseness_by_sum(*setting) < 1e-8


def looseness_by_sum(sample_rate: float, noise_multiplier: float, order: int) -> float:
    """As `looseness`, against the moment's binomial sum to 40 digits."""
    ours = sampled_gaussian(sample_rate, noise_multiplier, np.array([float(order)]))[0]
    with mpmath.workdps(40):
        q, half = mpmath.mpf(sample_rate), 1 / (2 * mpmath.mpf(noise_multiplier) ** 2)
        chance, less_one = (1 - q) ** order, mpmath.mpf(0)
        for k in range(order + 1):
            less_one += chance * mpmath.expm1(k * (k - 1) * half)
            chance *= (order - k) * q / ((k + 1) * (1 - q))
        true = mpmath.log1p(less_one) / (order - 1)
        return float((mpmath.mpf(float(ours)) - true) / true)


@pytest.mark.parametrize(("num_records", "batch_size"), [(10, 9), (1000, 10)])
@pytest.mark.parametrize("mu", [1e-30, 1e-9, 0.99e-4])
def test_small_distances_of_fixed_batches_have_a_bound(num_records: int, batch_size: int, mu: float) -> None:
    """The library takes the logarithm of 0 there; a single record in place of the others is the sampled Gaussian, hence the least."""
    orders = (1.5, 2.0, 16.0, 256.0)
    divergence = rdp.DIVERGENCES[FixedBatchGaussian](FixedBatchGaussian(num_records, batch_size, mu), orders)
    least = sampled_gaussian(batch_size / num_records, 1 / mu, np.array(orders))
    assert (divergence >= least * (1 - 1e-12)).all()
    assert (divergence <= 2 * least * (1 + 1e-9)).all()
    assert (divergence <= np.array(orders) * mu**2 / 2 * (1 + 1e-12)).all()


def test_orders_of_one_block_agree_with_each_alone() -> None:
    """The grid of a block reaches as far as its largest order needs, where smaller orders' powers would overflow."""
    orders = np.array([1.5, 8.0, 200.0, 1000.0])
    together = sampled_gaussian(1e-5, 0.4, orders)
    alone = [sampled_gaussian(1e-5, 0.4, np.array([order]))[0] for order in orders]
    np.testing.assert_allclose(together, alone, rtol=1e-8)


@pytest.mark.parametrize(
    "mechanism", [VisibleGaussian(1e-18, 1.0), FixedBatchGaussian(10**12, 10, 1.0), SampledGaussian(1e-18, 1.0), ExactGaussian(1e-90)]
)
def test_nothing_private_costs_nothing(mechanism: Any) -> None:
    """The divergence of anything private is above 0 at every order, however rare its touch."""
    divergence = rdp.DIVERGENCES[type(mechanism)](mechanism, (1.5, 2.0, 16.0, 256.0))
    assert (divergence > 0).all()
    assert rdp.epsilon({mechanism: 1}, 1e-160) > 0.0


def test_visible_batches_are_exact_when_rare() -> None:
    q, alpha = 1e-17, 2.0
    (value,) = rdp.DIVERGENCES[VisibleGaussian](VisibleGaussian(q, 1.0), (alpha,))
    assert value == pytest.approx(q * math.expm1(1.0), rel=1e-9)


@pytest.mark.parametrize("mu", [1e-17, 1e-12, 1e-9, 1e-6, 1e-3])
def test_an_exact_zero_needs_a_small_total_variation(mu: float) -> None:
    """Below the total variation, erf(mu / sqrt 8), delta leaves an epsilon above 0."""
    apart = math.erf(mu / math.sqrt(8))
    assert gdp_epsilon(mu, apart * 1.001) == 0.0
    assert gdp_epsilon(mu, apart * 0.999) > 0.0
    assert gdp_epsilon(mu, apart / 10) > 0.1 * mu


@pytest.mark.slow(
    depends=[
        "workbench/privacy/accounting/accountants/**",
        "workbench/privacy/accounting/bounds.py",
        "workbench/privacy/accounting/gaussian.py",
        "workbench/privacy/accounting/events.py",
        "workbench/privacy/accounting/stages.py",
    ]
)
def test_certified_over_many_decades(figures: dict[str, Any]) -> None:
    """Random rates, noises, orders against 40 digits; random steps and deltas against a lower bound by optimistic distributions."""
    rng = random.Random(9)
    loose, margins = [], []
    for index in range(SETTINGS):
        sample_rate, noise_multiplier = 10 ** rng.uniform(-12, -0.01), 10 ** rng.uniform(-0.3, 1.5)
        loose.append(looseness(sample_rate, noise_multiplier, ORDERS[index % len(ORDERS)]))
        sample_rate, steps, delta = 10 ** rng.uniform(-7, -0.3), int(10 ** rng.uniform(0, 5)), 10 ** rng.uniform(-9, -4)
        lower = certified_below(sample_rate, noise_multiplier, steps, delta)
        epsilon = bound(sample_rate, noise_multiplier, steps, delta)
        margins.append(epsilon - lower)
        assert epsilon >= lower, (sample_rate, noise_multiplier, steps, delta)
        assert epsilon > 0.0 or lower == 0.0
    assert min(loose) >= 0.0
    assert max(loose) < 1e-6
    figures |= {
        "settings": SETTINGS,
        "least relative looseness of a divergence": min(loose),
        "median": float(np.median(loose)),
        "largest": max(loose),
        "smallest margin of an epsilon over its lower bound": min(margins),
        "median margin": float(np.median(margins)),
    }


def certified_below(sample_rate: float, noise_multiplier: float, steps: int, delta: float) -> float:
    """A lower bound of the true epsilon: dp-accounting's optimistic distribution, its rounding given away in delta."""
    scale = sample_rate * math.sqrt(steps * math.expm1(min(noise_multiplier**-2, 20.0)))
    interval = min(1e-2, max(3e-5, scale / math.sqrt(steps) / 20))
    single = privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier,
        pessimistic_estimate=False,
        value_discretization_interval=interval,
        sampling_prob=sample_rate,
        use_connect_dots=False,
    )
    return max(0.0, float(single.self_compose(steps).get_epsilon_for_delta(delta * 1.001 + 1e-12)))


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.05, 0.5, 2.99])
def test_central_moments_of_the_likelihood_ratio(mu: float) -> None:
    """By the binomial sum, whose terms cancel: in 2200 digits."""
    ours = _log_central_moments(mu, 129)
    with mpmath.workdps(2200):
        growth = mpmath.exp(mpmath.mpf(mu) ** 2)
        for k in (2, 4, 20, 130, 258):
            total = mpmath.fsum(mpmath.binomial(k, j) * (-1) ** j * growth ** (j * (j - 1) // 2) for j in range(k + 1))
            assert ours[k // 2 - 1] == pytest.approx(float(mpmath.log(total)), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("mu", [3.0, 5.0])
def test_central_moments_bound_nothing_beyond_their_limit(mu: float) -> None:
    k = 2.0 * np.arange(1, 130)
    assert (math.log(4) + _log_central_moments(mu, 129) > math.log(2) + k * (k - 1) * mu * mu / 2).all()


@pytest.mark.parametrize("orders", [(2, 3, 11), (2, 40, 63), (64, 255, 256), (320, 1024)])
@pytest.mark.parametrize(("sample_rate", "mu"), [(0.01, 0.5), (0.01, 2.9), (1e-4, 6.0), (0.5, 1.0), (5e-4, 40.0)])
def test_moments_without_replacement_are_the_librarys(sample_rate: float, mu: float, orders: tuple[int, ...]) -> None:
    """Where its differences do not cancel, which at small distances or high orders leaves it with rounding alone."""
    ours = fixed_batch(sample_rate, mu, np.array(orders, dtype=np.float64))
    library = rdp_privacy_accountant._compute_rdp_sample_wor_gaussian_int
    theirs = [library(sample_rate, 1 / mu, order) for order in orders]
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("mu", [1e-300, 1e-120, 1e-20, 1e90])
def test_moments_without_replacement_at_extreme_distances(mu: float) -> None:
    for orders in ((2.0, 63.0), (64.0, 256.0), (320.0, 1024.0)):
        moments = fixed_batch(0.1, mu, np.array(orders))
        assert not np.isnan(moments).any()
        assert (moments >= 0).all()
        assert (moments[0] > 1) == (mu > 1 or orders[0] > 256)


def test_what_the_library_computes_has_an_allowance_for_its_rounding_at_every_order() -> None:
    rho = 1e-15
    divergences = rdp._library(LibraryEvent(ZCDpEvent(rho), "REPLACE_SPECIAL"), ORDERS)
    orders = np.array(ORDERS)
    assert divergences == pytest.approx(rho * orders + rdp.ROUNDING_OF_MOMENTS / (orders - 1), rel=1e-9)
