"""The PLD accountant: a numerical upper bound by privacy loss distributions, discretised pessimistically."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as library
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from numpy.typing import NDArray

from workbench.errors import RefusedError
from workbench.privacy.accounting import gaussian
from workbench.privacy.accounting.accountants import rdp
from workbench.privacy.accounting.accountants.mechanisms import (
    BoundedRange,
    Composition,
    ExactGaussian,
    FixedBatchGaussian,
    GaussianMixture,
    LibraryEvent,
    Mechanism,
    SampledGaussian,
    Unbounded,
    VisibleGaussian,
    library_relation,
    num_steps,
)
from workbench.privacy.accounting.accountants.pmf import Pmf, dense
from workbench.privacy.accounting.bounded_range import MOST_CHOICES, adaptive_delta, reach

Floats = NDArray[np.float64]
REPORTED_INTERVAL = 1e-4
FINER = (3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8)  # where 1e-4, added up over the steps, is no small part of epsilon
FINENESS = 0.02  # an interval of this part of epsilon over the root of the steps inflates epsilon by about .1 %
FINE_POINTS = 5e5  # as far as a grid is refined
SMALLEST_DELTA = 1e-10  # below it the rounding of the transforms is not small against delta
ROUNDING = 1e-13  # allowance for that rounding, taken off delta; measured below 1e-13 up to FEW_STEPS
FEW_STEPS = 1000
ROUNDING_PER_STEP = 2e-16  # beyond: a power of the transform multiplies its rounding; measured up to 5e-17 a step (1e4 to 1e6 steps)
MOST_STEPS = 10**6
MOST_POINTS = 3e6
COARSEST = 500.0  # an interval; e^interval must be a number
NEGLIGIBLE = 1e-23


def epsilon(composition: Composition, delta: float, interval: float | None = None) -> float:
    """Epsilon at `delta` from the composed distribution.

    `interval` is the discretisation, an upper bound at any value; None takes `reported_interval`. Refuses delta below 1e-10 and more
    than a million steps, where rounding would spoil the bound.
    """
    if any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return math.inf
    if not composition:
        return 0.0
    if delta < SMALLEST_DELTA:
        raise RefusedError(f"The PLD accountant is limited by rounding to delta >= {SMALLEST_DELTA:g}, got {delta:g}; RDP covers it.")
    steps = num_steps(composition)
    if steps > most_steps(delta):
        raise RefusedError(f"The PLD accountant is limited to {most_steps(delta)} steps at delta {delta:g}, got {steps}; RDP covers it.")
    return _epsilon_on(composition, delta, interval) if interval else _refined_interval(tuple(composition.items()), delta)[1]


def quick_epsilon(composition: Composition, delta: float) -> float:
    """`epsilon` on a grid chosen for a curve: it inflates epsilon by at most about 5 %."""
    if not composition or any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return epsilon(composition, delta)
    interval = curve_interval(composition, delta)
    value = epsilon(composition, delta, interval)
    finer = max(quick_interval(value, num_steps(composition)), _width(composition, delta) / FINE_POINTS)
    return min(value, epsilon(composition, delta, finer)) if finer < interval / 2 else value  # RDP's guess was far above it


def ground(composition: Composition, delta: float) -> str:
    """What a bound by this accountant is called: its side of the discretisation and the interval."""
    return f"PLD, pessimistic, interval {reported_interval(composition, delta):g}"


def rounding(steps: int) -> float:
    """What the transforms of so many composed steps may take off delta by rounding."""
    return ROUNDING + ROUNDING_PER_STEP * max(0, steps - FEW_STEPS)


def most_steps(delta: float) -> int:
    """How many steps the accountant composes at `delta`: rounding stays below half of it."""
    return min(MOST_STEPS, FEW_STEPS + int((delta / 2 - ROUNDING) / ROUNDING_PER_STEP))


def distribution(composition: Composition, interval: float) -> PrivacyLossDistribution:
    """The composed privacy loss distribution; the pair (remove, add) of every part is composed in its own direction."""
    parts = [_self_composed(mechanism, count, interval) for mechanism, count in composition.items()]
    total = parts[0] if parts else library.identity(interval)
    for part in parts[1:]:
        total = total.compose(part)
    return total


def reported_interval(composition: Composition, delta: float) -> float:
    """1e-4; finer for an epsilon so small that 1e-4 would inflate it, coarser for one so large that its grid would not fit in memory."""
    return _refined_interval(tuple(composition.items()), delta)[0]


@lru_cache(maxsize=4096)
def _refined_interval(parts: tuple[tuple[Mechanism, int], ...], delta: float) -> tuple[float, float]:
    """The interval, and epsilon on it: refined until it is small against epsilon over the root of the steps, or the grid large."""
    composition = dict(parts)
    interval, smallest = _first_interval(composition, delta), _width(composition, delta) / FINE_POINTS
    value = _epsilon_on(composition, delta, interval)
    while 0 < value < math.inf:
        wanted = max(smallest, FINENESS * value / math.sqrt(num_steps(composition)))
        if wanted >= interval or interval == FINER[-1]:
            break
        interval = next((known for known in FINER if known <= wanted), FINER[-1])
        value = min(value, _epsilon_on(composition, delta, interval))
    return interval, value


def _epsilon_on(composition: Composition, delta: float, interval: float) -> float:
    return _epsilon_of(tuple(composition.items()), delta, interval)


@lru_cache(maxsize=4096)
def _epsilon_of(parts: tuple[tuple[Mechanism, int], ...], delta: float, interval: float) -> float:
    """Kept, as a plan that is made again searches where it has searched before."""
    if interval > COARSEST:
        raise RefusedError("The PLD accountant has no grid for an epsilon so large; RDP covers it.")
    composition = dict(parts)
    value = distribution(composition, interval).get_epsilon_for_delta(delta - rounding(num_steps(composition)))
    return max(0.0, float(value))


def _first_interval(composition: Composition, delta: float) -> float:
    """1e-4, or the multiple of it that keeps the grid of a very large epsilon under three million points."""
    parts = max(len(getattr(mechanism, "weights", (1,))) for mechanism in composition)
    return REPORTED_INTERVAL * max(1.0, math.ceil(_width(composition, delta) / REPORTED_INTERVAL / MOST_POINTS * parts))


def quick_interval(epsilon: float, steps: int, inflation: float = 0.05) -> float:
    """An interval for curves and searches that inflates epsilon by no more than about `inflation`, for all parts alike."""
    return min(5e-3, max(1e-7, inflation * epsilon / math.sqrt(max(1, steps))))


def search_interval(composition: Composition, delta: float, target: float, inflation: float) -> float:
    """An interval for a search near a target, no finer than what is reported there; all settings share it, but those of wide grids."""
    steps = num_steps(composition)
    reported = min(REPORTED_INTERVAL, FINENESS * target / math.sqrt(steps))
    interval = max(reported, quick_interval(target, steps, inflation))
    return interval if interval >= REPORTED_INTERVAL else max(interval, _width(composition, delta) / FINE_POINTS)


def curve_interval(composition: Composition, delta: float) -> float:
    """`quick_interval` at the epsilon of the RDP accountant; as coarse as the reported one must be for a huge epsilon."""
    value = _rdp_epsilon(composition, delta)
    quick = quick_interval(value, num_steps(composition)) if math.isfinite(value) else REPORTED_INTERVAL
    return max(quick, _width(composition, delta) / MOST_POINTS)


def curve_reach(composition: Composition, delta: float = SMALLEST_DELTA) -> float:
    """An epsilon at which the composition's delta is below `delta`: as far as a profile is worth drawing."""
    value = _rdp_epsilon(composition, delta)
    if math.isinf(value):
        value = float(distribution(composition, reported_interval(composition, delta)).get_epsilon_for_delta(delta))
    return max(1e-3, value)


def _width(composition: Composition, delta: float) -> float:
    """About how wide the widest grid is: of the composed loss, or of the loss of a single step with its tails."""
    single = max(_single_width(mechanism) for mechanism in composition)
    if single < 50 and num_steps(composition) == 1:
        return single
    total = _rdp_epsilon(composition, max(delta, SMALLEST_DELTA))
    return max(single, 3 * total if math.isfinite(total) else single)


def _rdp_epsilon(composition: Composition, delta: float) -> float:
    """The RDP epsilon as a first guess; infinite where that accountant refuses."""
    try:
        return rdp.epsilon(composition, delta)
    except RefusedError:
        return math.inf


def _single_width(mechanism: Mechanism) -> float:
    mu = LOSS_SCALES[type(mechanism)](mechanism)
    return mu * mu + 22 * mu


@lru_cache(maxsize=48)
def _self_composed(mechanism: Mechanism, count: int, interval: float) -> PrivacyLossDistribution:
    if isinstance(mechanism, ExactGaussian):
        return BUILDERS[ExactGaussian](ExactGaussian(mechanism.mu * math.sqrt(count)), interval)
    if isinstance(mechanism, BoundedRange):
        return _choices(mechanism.epsilon, count, interval)
    single = _single(mechanism, interval)
    return single if count == 1 else single.self_compose(count)


@lru_cache(maxsize=16)
def _single(mechanism: Mechanism, interval: float) -> PrivacyLossDistribution:
    return BUILDERS[type(mechanism)](mechanism, interval)


def _exact(mechanism: ExactGaussian, interval: float) -> PrivacyLossDistribution:
    return PrivacyLossDistribution(_from_profile(lambda eps: gaussian.gdp_delta(mechanism.mu, eps), _reach(mechanism.mu), interval))


def _sampled(mechanism: SampledGaussian, interval: float) -> PrivacyLossDistribution:
    """The pair (remove, add): the record present on the first side, or on the second."""
    rate, mu = mechanism.sample_rate, 1 / mechanism.noise_multiplier

    def remove(epsilon: Floats) -> Floats:
        return gaussian.sampled_delta(rate, mu, epsilon)

    def add(epsilon: Floats) -> Floats:
        return np.where(epsilon < -math.log1p(-rate), np.clip(gaussian.exchanged_profile(remove(-epsilon), epsilon), 0.0, 1.0), 0.0)

    return PrivacyLossDistribution(_from_profile(remove, _reach(mu), interval), _from_profile(add, _reach(mu), interval))


def _fixed_batch(mechanism: FixedBatchGaussian, interval: float) -> PrivacyLossDistribution:
    rate, mu = mechanism.batch_size / mechanism.num_records, mechanism.mu
    return PrivacyLossDistribution(_from_profile(lambda eps: gaussian.fixed_batch_delta(rate, mu, eps), _reach(mu), interval))


def _visible(mechanism: VisibleGaussian, interval: float) -> PrivacyLossDistribution:
    rate, mu = mechanism.sample_rate, mechanism.mu
    return PrivacyLossDistribution(_from_profile(lambda eps: gaussian.visible_batch_delta(rate, mu, eps), _reach(mu), interval))


def _choices(range_: float, count: int, interval: float) -> PrivacyLossDistribution:
    """Choices of one range: blocks of as many as one profile is made for, and what is left."""
    blocks, left = divmod(count, MOST_CHOICES)
    parts = [_block(range_, MOST_CHOICES, interval).self_compose(blocks)] if blocks else []
    parts += [_block(range_, left, interval)] if left else []
    return parts[0] if len(parts) == 1 else parts[0].compose(parts[1])


def _block(range_: float, count: int, interval: float) -> PrivacyLossDistribution:
    profile = _from_profile(lambda eps: adaptive_delta(range_, count, eps), reach(range_, count), interval)
    return PrivacyLossDistribution(profile)


def _bounded_range(mechanism: BoundedRange, interval: float) -> PrivacyLossDistribution:
    return _block(mechanism.epsilon, 1, interval)


def _reach(mu: float) -> float:
    """A loss that a mu-GDP pair exceeds with chance below 1e-23."""
    return mu * mu / 2 + 10 * mu


def _mixture(mechanism: GaussianMixture, interval: float) -> PrivacyLossDistribution:
    sigma, reach = mechanism.noise_multiplier, _reach(max(mechanism.sensitivities) / mechanism.noise_multiplier)

    def remove(epsilon: Floats) -> Floats:
        return gaussian.mixture_delta(sigma, mechanism.sensitivities, mechanism.weights, epsilon)

    def add(epsilon: Floats) -> Floats:
        return np.clip(gaussian.exchanged_profile(remove(-epsilon), epsilon), 0.0, 1.0)

    return PrivacyLossDistribution(_from_profile(remove, reach, interval), _from_profile(add, reach, interval))


def _library(mechanism: LibraryEvent, interval: float) -> PrivacyLossDistribution:
    build = LIBRARY_BUILDERS.get(type(mechanism.event))
    if build is None:
        raise RefusedError(f"The PLD accountant has no distribution for {type(mechanism.event).__name__}.")
    return dense(build(mechanism.event, mechanism, interval))


def _randomized_response(event: Any, mechanism: LibraryEvent, interval: float) -> PrivacyLossDistribution:
    return library.from_randomized_response(
        event.noise_parameter,
        event.num_buckets,
        value_discretization_interval=interval,
        neighboring_relation=library_relation(mechanism.relation),
    )


def _laplace(event: Any, mechanism: LibraryEvent, interval: float) -> PrivacyLossDistribution:
    return library.from_laplace_mechanism(event.noise_multiplier, value_discretization_interval=interval)


def _sampled_laplace(event: Any, mechanism: LibraryEvent, interval: float) -> PrivacyLossDistribution:
    return library.from_laplace_mechanism(
        event.event.noise_multiplier, value_discretization_interval=interval, sampling_prob=event.sampling_probability
    )


def _discrete_laplace(event: Any, mechanism: LibraryEvent, interval: float) -> PrivacyLossDistribution:
    return library.from_discrete_laplace_mechanism(event.noise_parameter, event.sensitivity, value_discretization_interval=interval)


def _from_profile(profile: Callable[[Floats], Floats], reach: float, interval: float) -> Pmf:
    """The pessimistic distribution of a privacy profile on [-reach, reach], shortened to where its mass lies."""
    coarse: Floats = np.linspace(0.0, reach, 2001, dtype=np.float64)
    above = np.flatnonzero(profile(coarse) < NEGLIGIBLE)
    below = np.flatnonzero(profile(-coarse) + np.expm1(-coarse) < NEGLIGIBLE * np.exp(-coarse))
    last = max(1, math.ceil((coarse[above[0]] if above.size else reach) / interval))
    first = -max(1, math.ceil((coarse[below[0]] if below.size else reach) / interval))
    deltas = np.clip(profile(np.arange(first, last + 1, dtype=np.float64) * interval), 0.0, 1.0)
    return Pmf.of_profile(np.minimum.accumulate(deltas), first, interval)


BUILDERS: dict[type, Callable[[Any, float], PrivacyLossDistribution]] = {
    ExactGaussian: _exact,
    SampledGaussian: _sampled,
    FixedBatchGaussian: _fixed_batch,
    VisibleGaussian: _visible,
    BoundedRange: _bounded_range,
    GaussianMixture: _mixture,
    LibraryEvent: _library,
}

LIBRARY_BUILDERS: dict[type, Callable[[Any, LibraryEvent, float], PrivacyLossDistribution]] = {
    dp_event.RandomizedResponseDpEvent: _randomized_response,
    dp_event.LaplaceDpEvent: _laplace,
    dp_event.DiscreteLaplaceDpEvent: _discrete_laplace,
    dp_event.PoissonSampledDpEvent: _sampled_laplace,
}

LOSS_SCALES: dict[type, Callable[[Any], float]] = {
    ExactGaussian: lambda mechanism: mechanism.mu,
    SampledGaussian: lambda mechanism: 1 / mechanism.noise_multiplier,
    FixedBatchGaussian: lambda mechanism: mechanism.mu,
    VisibleGaussian: lambda mechanism: mechanism.mu,
    BoundedRange: lambda mechanism: mechanism.epsilon / 11,  # of which the loss reaches 11 to either side
    GaussianMixture: lambda mechanism: max(map(abs, mechanism.sensitivities)) / mechanism.noise_multiplier,
    LibraryEvent: lambda mechanism: 0.0,
}
