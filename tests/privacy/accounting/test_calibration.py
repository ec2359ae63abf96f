"""Calibration meets the target from below, and says who is to blame when it can't."""

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from support.two_phases import TwoPhases

from workbench.errors import WorkbenchError
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.accountants import pld, rdp
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.calibration import calibrate_integer, calibrate_real
from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu
from workbench.privacy.accounting.stages import Stage


def noise(sigma: float) -> list[Stage]:
    return TwoPhases(noise_multiplier=sigma).renoised_stages()


@pytest.mark.parametrize("target", [0.3, 1.0, 10.0])
def test_noise_of_a_two_phase_run(target: float) -> None:
    pld._self_composed.cache_clear()
    pld._epsilon_of.cache_clear()
    rdp._fixed_batch.cache_clear()
    start = time.process_time()
    sigma = calibrate_real(noise, target, 1e-5)
    seconds = time.process_time() - start
    assert 0.995 * target <= proved_bound(noise(sigma), 1e-5).epsilon <= target
    assert seconds < 6.0  # twice the limit that tests/slow/test_privacy_speed.py holds it to


@given(st.floats(0.05, 20), st.floats(1e-3, 1.0), st.integers(1, 2000))
@settings(max_examples=8, deadline=None)
def test_any_target(target: float, q: float, steps: int) -> None:
    def stages(sigma: float) -> list[Stage]:
        return [Stage("DP-SGD", dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), "per_step", steps)]

    epsilon = proved_bound(stages(calibrate_real(stages, target, 1e-6)), 1e-6).epsilon
    assert 0.995 * target <= epsilon <= target


def test_tiny_delta() -> None:
    def stages(sigma: float) -> list[Stage]:
        return [Stage("DP-SGD", dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(sigma)), "per_step", 1000)]

    assert 0.995 * 2 <= proved_bound(stages(calibrate_real(stages, 2.0, 1e-14)), 1e-14).epsilon <= 2


def test_formula_in_place_of_the_bound() -> None:
    sigma = calibrate_real(lambda s: [], 1.0, 1e-5, evaluate=lambda s: gdp_epsilon(1 / s, 1e-5))
    assert 0.995 <= gdp_epsilon(1 / sigma, 1e-5) <= 1.0
    assert 1 / sigma == pytest.approx(gdp_mu(1.0, 1e-5), rel=5e-3)


def test_a_formula_that_is_infinite_below_its_range_and_zero_above() -> None:
    """Neither value tells how far off the search is, only on which side: what is returned meets the target."""
    assert 2.0 <= calibrate_real(lambda s: [], 1.0, 1e-5, evaluate=lambda s: 0.0 if s >= 2 else math.inf) < 2.01


def test_rising_field() -> None:
    """A sampling rate: the bound rises in it."""

    def stages(q: float) -> list[Stage]:
        return [Stage("DP-SGD", dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(1.0)), "per_step", 100)]

    q = calibrate_real(stages, 2.0, 1e-5, 1e-4, 1.0, increasing=True)
    assert 1.99 <= proved_bound(stages(q), 1e-5).epsilon <= 2.0


def boundary(value: int) -> list[Stage]:
    return TwoPhases(boundary=value, noise_multiplier=7.0).renoised_stages()


def steps(value: int) -> list[Stage]:
    return TwoPhases(steps_2=value).renoised_stages()


def records(value: int) -> list[Stage]:
    event = FixedBatchGaussianDpEvent(value, 32, 1 / 0.93)
    return [Stage("phase I", event, "per_step", 500, ("REPLACE_ONE",))]


def batch_size(value: int) -> list[Stage]:
    """Of dp-promise's phase II: the sampling rate is the batch size over the number of records."""
    return TwoPhases(sample_rate_2=value / 60_000, noise_multiplier=7.0).renoised_stages()


@pytest.mark.parametrize(
    ("stages_of", "target", "low", "high", "increasing"),
    [
        (boundary, 1.1, 700, 999, False),
        (steps, 9.0, 1, 5000, True),
        (batch_size, 0.8, 64, 60_000, True),
        (records, 0.2, 100, 10**6, False),
    ],
)
def test_next_integer_misses(stages_of: Callable[[int], list[Stage]], target: float, low: int, high: int, increasing: bool) -> None:
    value = calibrate_integer(stages_of, target, 1e-5, low, high, increasing)
    assert low < value < high
    assert proved_bound(stages_of(value), 1e-5).epsilon <= target
    assert proved_bound(stages_of(value + (1 if increasing else -1)), 1e-5).epsilon > target


@given(st.floats(0.3, 6), st.floats(0.8, 4), st.floats(1e-3, 0.1))
@settings(max_examples=6, deadline=None)
def test_most_steps_for_any_target(target: float, sigma: float, q: float) -> None:
    def stages(count: int) -> list[Stage]:
        return [Stage("DP-SGD", dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), "per_step", count)]

    if proved_bound(stages(1), 1e-5).epsilon > target:
        return
    count = calibrate_integer(stages, target, 1e-5, 1, 20_000, True)
    assert proved_bound(stages(count), 1e-5).epsilon <= target
    assert count == 20_000 or proved_bound(stages(count + 1), 1e-5).epsilon > target


def test_integer_by_formula() -> None:
    assert calibrate_integer(lambda n: [], 3.0, 1e-5, 1, 10**6, True, evaluate=lambda n: n / 100) == 300


def test_a_range_below_the_target_gives_its_last_value() -> None:
    assert calibrate_integer(steps, 500.0, 1e-5, 1, 800, True) == 800


def test_error_names_the_part_and_what_helps() -> None:
    with pytest.raises(WorkbenchError, match=r"phase I alone exceeds the target.*larger boundary S"):
        calibrate_real(lambda s: TwoPhases(boundary=800, noise_multiplier=s).renoised_stages(), 1.0, 1e-5)


def test_parts_together() -> None:
    def stages(sigma: float) -> list[Stage]:
        fixed = Stage("a", dp_event.GaussianDpEvent(4.0), "once")
        return [fixed, Stage("b", dp_event.GaussianDpEvent(5.0), "once"), Stage("c", dp_event.GaussianDpEvent(sigma), "once")]

    with pytest.raises(WorkbenchError, match="the parts together exceed the target"):
        calibrate_real(stages, 1.05 * gdp_epsilon(0.25, 1e-5), 1e-5)


def test_unbounded_parts_are_named() -> None:
    with pytest.raises(WorkbenchError, match="teacher alone has none: nobody knows"):
        calibrate_real(lambda s: [Stage("teacher", UnprovedDpEvent("nobody knows"), "once")], 1.0, 1e-5)


def test_a_target_that_rdp_misses_at_any_noise_takes_few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Phase I of a million records, whose RDP alone is above the target that PLD meets: 23 evaluations when searched from the end."""
    fixed = Stage("a", FixedBatchGaussianDpEvent(10**6, 32, 0.53), "per_step", 600, ("REPLACE_SPECIAL",))
    rough, seen = calibration._rough_bound, []

    def stages(sigma: float) -> list[Stage]:
        step = dp_event.PoissonSampledDpEvent(1e-3, dp_event.GaussianDpEvent(sigma))
        return [fixed, Stage("b", step, "per_step", 300)]

    def quick(*arguments: Any) -> float:
        seen.append(arguments)
        return original(*arguments)

    original = calibration._quick_bound
    assert rough(stages(1e5), 5e-7) > 2 > proved_bound(stages(1e5), 5e-7).epsilon
    monkeypatch.setattr(calibration, "_quick_bound", quick)
    sigma = calibrate_real(stages, 2.0, 5e-7)
    assert 0.995 * 2 <= proved_bound(stages(sigma), 5e-7).epsilon <= 2
    assert len(seen) <= 12


@pytest.mark.parametrize(("epsilon", "low", "high"), [(0.0, 1, 2), (math.inf, 1, 2), (1.0, 2, 1)])
def test_wrong_input(epsilon: float, low: float, high: float) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        calibrate_real(noise, epsilon, 1e-5, low, high)


@pytest.mark.parametrize(("epsilon", "mu"), [(10.0, 2.00045), (1.0, 0.268051)])
def test_the_mu_of_our_notes_is_all_that_a_plan_without_sampling_has(epsilon: float, mu: float) -> None:
    """At delta 1e-5; the squares of mu add up, so three releases of noise s have the mu of sqrt(3)/s."""
    assert gdp_mu(epsilon, 1e-5) == pytest.approx(mu, rel=3e-6)
    releases = [Stage("a", dp_event.GaussianDpEvent(math.sqrt(3) / mu), "per_step", 3)]
    assert proved_bound(releases, 1e-5).epsilon == pytest.approx(epsilon, rel=1e-5)


def test_the_largest_mu_of_epsilon_zero_is_a_total_variation() -> None:
    """Phi(mu/2) - Phi(-mu/2) = delta."""
    assert gdp_mu(0.0, 1e-3) == pytest.approx(2 * float(ndtri(0.5 + 5e-4)), rel=1e-9)
    for epsilon in (-1.0, math.inf):
        with pytest.raises(WorkbenchError, match="finite epsilon"):
            gdp_mu(epsilon, 1e-3)


def test_a_target_far_below_the_grid_of_1e_4_is_met_closely() -> None:
    """The grid of search and result follows the target: one of 1e-4 would take more than twice the noise."""

    def stages_of(noise_multiplier: float) -> list[Stage]:
        step = dp_event.PoissonSampledDpEvent(64 / 60_000, dp_event.GaussianDpEvent(noise_multiplier))
        return [Stage("DP-SGD", step, "per_step", 93_800, ("ADD_OR_REMOVE_ONE",), "Poisson")]

    sigma = calibrate_real(stages_of, 0.004, 1e-5)
    assert sigma == pytest.approx(177, rel=0.02)
    assert 0.995 * 0.004 <= proved_bound(stages_of(sigma), 1e-5).epsilon <= 0.004
