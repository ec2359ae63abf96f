"""Epsilon over a range of values, quickly: the grid of every point is chosen by its own RDP epsilon, and points are cached."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from dp_accounting import dp_event

from workbench.errors import RefusedError, check_delta
from workbench.privacy.accounting.accountants import ACCOUNTANTS, Accountant
from workbench.privacy.accounting.accountants.mechanisms import Composition, Mechanism
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import shared_relation
from workbench.privacy.accounting.sampler import sampler_distance, sampler_epsilon
from workbench.privacy.accounting.stages import Stage, compose

Curve = dict[str, list[float | None]]


def epsilon_curve(stages_of: Callable[[float], Sequence[Stage]], values: Sequence[float], delta: float) -> Curve:
    """Epsilon at every value by every accountant of ACCOUNTANTS, each of the length of `values`.

    None stands where an accountant refuses. The PLD grid inflates epsilon by at most about 5 % (an upper bound still);
    numbers that are reported come from `proved_bound`.
    """
    check_delta(delta)
    points = [_point(stages_of(value), delta) for value in values]
    return {name: [point[index] for point in points] for index, name in enumerate(ACCOUNTANTS)}


def poisson_gaussian_curve(noise_multipliers: Sequence[float], sample_rate: float, steps: int, delta: float) -> Curve:
    """`epsilon_curve` of DP-SGD over noise multipliers."""

    def stages_of(noise_multiplier: float) -> list[Stage]:
        step = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
        return [Stage("DP-SGD", step, "per_step", steps, ("ADD_OR_REMOVE_ONE",), "Poisson")]

    return epsilon_curve(stages_of, noise_multipliers, delta)


def exact_accountants(stages: Sequence[Stage]) -> set[str]:
    """The approximations that are exact for these stages, and hence bounds there."""
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
    except RefusedError:
        return set()
    return {name for name, accountant in ACCOUNTANTS.items() if accountant.is_exact(composition)}


def _point(stages: Sequence[Stage], delta: float) -> tuple[float | None, ...]:
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
    except RefusedError:
        return (None,) * len(ACCOUNTANTS)
    return _cached_point(tuple(composition.items()), delta, sampler_distance(stages))


@lru_cache(maxsize=4096)
def _cached_point(parts: tuple[tuple[Mechanism, int], ...], delta: float, distance: float) -> tuple[float | None, ...]:
    return tuple(_or_none(accountant, dict(parts), delta, distance) for accountant in ACCOUNTANTS.values())


def _or_none(accountant: Accountant, composition: Composition, delta: float, distance: float) -> float | None:
    epsilon = accountant.quick_epsilon or accountant.epsilon
    try:
        return sampler_epsilon(lambda left: epsilon(composition, left), delta, distance)
    except RefusedError:
        return None
