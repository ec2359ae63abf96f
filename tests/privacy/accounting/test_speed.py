"""Curves, cross-checks and imports: quick enough for a page, light enough for a script.

Seconds here are CPU time at twice the limit, so that a busy machine passes; the limits themselves are asserted on a quiet
machine by tests/slow/test_privacy_speed.py, through benchmarks/privacy.py.
"""

import subprocess
import sys
import time

import numpy as np
import pytest

from workbench.errors import RefusedError
from workbench.privacy.accounting.accountants import pld
from workbench.privacy.accounting.accountants.mechanisms import SampledGaussian
from workbench.privacy.accounting.accountants.prv import prv_bracket
from workbench.privacy.accounting.bounds import epsilon_poisson_gaussian
from workbench.privacy.accounting.curves import _cached_point, poisson_gaussian_curve

SIGMAS = list(np.geomspace(0.6, 10, 50))


@pytest.mark.parametrize(("q", "steps"), [(0.01, 10_000), (1 / 15, 750), (0.001, 10_000)])
def test_fifty_points(q: float, steps: int) -> None:
    _cached_point.cache_clear()
    pld._epsilon_of.cache_clear()
    start = time.process_time()
    curve = poisson_gaussian_curve(SIGMAS, q, steps, 1e-5)
    first = time.process_time() - start
    start = time.process_time()
    assert poisson_gaussian_curve(SIGMAS, q, steps, 1e-5) == curve
    assert time.process_time() - start < 0.1
    assert first < 3.0
    for index in (0, 20, 35):
        reported = epsilon_poisson_gaussian(SIGMAS[index], q, steps, 1e-5)
        assert curve["pld"][index] <= 1.05 * reported["pld"]  # pyright: ignore[reportOptionalOperand]
        assert curve["rdp"][index] == reported["rdp"]
        assert curve["gdp"][index] == reported["gdp"]


def test_grid_of_curves_suits_each_point() -> None:
    """A fixed grid of 1e-3 more than doubles the epsilon of much noise and many steps; the one chosen adds under 5 %."""
    composition = {SampledGaussian(0.001, 10.0): 10_000}
    fine = pld.epsilon(composition, 1e-5, 2e-5)
    assert pld.epsilon(composition, 1e-5, 1e-3) > 2.8 * fine
    assert pld.epsilon(composition, 1e-5, pld.curve_interval(composition, 1e-5)) < 1.05 * fine


@pytest.mark.parametrize(("q", "sigma", "steps"), [(64 / 60_000, 174.0, 93_800), (1e-3, 20.0, 10_000), (1e-4, 5.0, 1_000_000)])
def test_small_values_are_not_inflated_by_the_grid(q: float, sigma: float, steps: int) -> None:
    """Added up over the steps, 1e-4 is several times such an epsilon; what is reported hardly improves on a grid ten times finer."""
    composition, delta = {SampledGaussian(q, sigma): steps}, 1e-4 if steps > 500_000 else 1e-5
    reported, interval = pld.epsilon(composition, delta), pld.reported_interval(composition, delta)
    assert pld.epsilon(composition, delta, 1e-4) > 1.3 * reported
    assert pld.epsilon(composition, delta, interval / 10) <= reported < 1.005 * pld.epsilon(composition, delta, interval / 10)
    assert pld.ground(composition, delta).endswith(f"interval {interval:g}")
    assert 0.995 * reported < pld.quick_epsilon(composition, delta) < 1.05 * reported
    assert pld.reported_interval({SampledGaussian(0.01, 1.0): 1000}, 1e-5) == 1e-4


def test_curve_leaves_a_gap_where_an_accountant_refuses() -> None:
    curve = poisson_gaussian_curve([1.0], 0.01, 10, 1e-14)
    assert curve["pld"] == [None]
    assert curve["rdp"][0] is not None


def test_prv_brackets_the_pld() -> None:
    bracket = prv_bracket(2.0, 0.01, 1000, 1e-6)
    value = epsilon_poisson_gaussian(2.0, 0.01, 1000, 1e-6)["pld"]
    assert bracket.lower <= bracket.estimate <= bracket.upper
    assert bracket.lower <= value <= bracket.upper + 0.01
    assert prv_bracket(0.0, 0.01, 10, 1e-5).lower == float("inf")
    assert prv_bracket(1.0, 0.01, 0, 1e-5).upper == 0.0
    with pytest.raises(RefusedError, match="delta >= 1e-10"):
        prv_bracket(1.0, 0.01, 10, 1e-12)


def run(code: str) -> list[float]:
    """Numbers that a fresh interpreter prints."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(word) for word in result.stdout.split()]


def test_import_is_light() -> None:
    code = """
import sys, time
start = time.process_time()
import workbench.privacy
from workbench.privacy import Stage, PrivacyValue
print(time.process_time() - start)
print(sum(name in sys.modules for name in ("torch", "dp_accounting", "scipy.stats", "plotly")))
"""
    seconds, heavy = min(run(code) for _ in range(2))
    assert heavy == 0
    assert seconds < 0.4  # the limit itself: CPU time of an import hardly depends on what else runs


def test_everything_costs_little_beside_dp_accounting() -> None:
    code = """
import sys, time
start = time.process_time()
import dp_accounting
middle = time.process_time()
import workbench.privacy as privacy
for name in privacy.__all__:
    getattr(privacy, name)
print((time.process_time() - start) / (middle - start), int("torch" in sys.modules))
"""
    ratio, torch = min(run(code) for _ in range(3))
    assert torch == 0
    assert ratio < 1.3  # the limit itself: a ratio within one process
