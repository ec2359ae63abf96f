"""Epsilon over a range of values, quickly: the grid of every point is chosen by its own RDP epsilon, and points are cached."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from dp_accounting import dp_event

from workbench.errors import RefusedError, check_delta
from workbench.privacy.accounting.accountants import gdp, pld, rdp
from workbench.privacy.accounting.accountants.bounds import shared_relation
from workbench.privacy.accounting.accountants.mechanisms import Composition, Mechanism, Unbounded, mechanisms
from workbench.privacy.accounting.accountants.sampler import priced, sampler_distance
from workbench.privacy.accounting.stages import Stage, compose

Curve = dict[str, list[float | None]]


def epsilon_curve(stages_of: Callable[[float], Sequence[Stage]], values: Sequence[float], delta: float) -> Curve:
    """Epsilon at every value by every accountant: {"gdp", "rdp", "pld"}, each of the length of `values`.

    None stands where an accountant refuses. The PLD grid inflates epsilon by at most about 5 % (an upper bound still);
    numbers that are reported come from `proved_bound`.
    """
    check_delta(delta)
    points = [_point(stages_of(value), delta) for value in values]
    return {name: [point[index] for point in points] for index, name in enumerate(("gdp", "rdp", "pld"))}


def poisson_gaussian_curve(noise_multipliers: Sequence[float], sample_rate: float, steps: int, delta: float) -> Curve:
    """`epsilon_curve` of DP-SGD over noise multipliers."""

    def stages_of(noise_multiplier: float) -> list[Stage]:
        step = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
        return [Stage("DP-SGD", step, "per_step", steps, ("ADD_OR_REMOVE_ONE",), "Poisson")]

    return epsilon_curve(stages_of, noise_multipliers, delta)


def _point(stages: Sequence[Stage], delta: float) -> tuple[float | None, float | None, float | None]:
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
    except RefusedError:
        return None, None, None
    return _cached_point(tuple(composition.items()), delta, sampler_distance(stages))


@lru_cache(maxsize=4096)
def _cached_point(
    parts: tuple[tuple[Mechanism, int], ...], delta: float, distance: float
) -> tuple[float | None, float | None, float | None]:
    composition = dict(parts)
    return (
        _or_none(gdp.epsilon, composition, delta, distance),
        _or_none(rdp.epsilon, composition, delta, distance),
        _or_none(_quick_pld, composition, delta, distance),
    )


def _quick_pld(composition: Composition, delta: float) -> float:
    if not composition or any(isinstance(mechanism, Unbounded) for mechanism in composition):
        return pld.epsilon(composition, delta)
    return pld.epsilon(composition, delta, pld.curve_interval(composition, delta))


def _or_none(accountant: Callable[[Composition, float], float], composition: Composition, delta: float, distance: float) -> float | None:
    try:
        return priced(lambda left: accountant(composition, left), delta, distance)
    except RefusedError:
        return None
