"""What an epsilon means."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from support.two_phases import TwoPhases

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.attacks import tradeoff

ALPHA = np.array([0.0, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0])


def test_gaussian_event_has_the_gaussian_tradeoff() -> None:
    measured = tradeoff.event_tradeoff([Stage("a", dp_event.GaussianDpEvent(1.0), "once")], ALPHA)
    exact = tradeoff.gdp_tradeoff(1.0, ALPHA)
    assert np.all(measured <= exact + 1e-9)
    np.testing.assert_allclose(measured, exact, atol=2e-3)


def test_event_tradeoff_is_tighter_than_its_epsilon() -> None:
    stages = TwoPhases(noise_multiplier=7.0).renoised_stages()
    epsilon = proved_bound(stages, 1e-5).epsilon
    assert np.all(tradeoff.event_tradeoff(stages, ALPHA) >= tradeoff.dp_tradeoff(epsilon, 1e-5, ALPHA) - 1e-3)


def test_gdp_implies_each_of_its_epsilons() -> None:
    for delta in (1e-2, 1e-5):
        implied = tradeoff.dp_tradeoff(gdp_epsilon(1.0, delta), delta, ALPHA)
        assert np.all(implied <= tradeoff.gdp_tradeoff(1.0, ALPHA) + 1e-12)


def test_extremes() -> None:
    np.testing.assert_allclose(tradeoff.dp_tradeoff(0.0, 0.0, ALPHA), 1 - ALPHA)
    np.testing.assert_array_equal(tradeoff.dp_tradeoff(math.inf, 0.0, ALPHA), 0.0)
    np.testing.assert_array_equal(tradeoff.event_tradeoff([Stage("a", UnprovedDpEvent("no"), "once")], ALPHA), 0.0)
    np.testing.assert_allclose(tradeoff.event_tradeoff([Stage("a", None, "free")], ALPHA), 1 - ALPHA)


def test_rates_and_beliefs() -> None:
    rates = tradeoff.attack_rates(1.0, 0.0, (0.01, 0.5))
    assert rates[0.01] == pytest.approx(0.01 * math.e)
    assert rates[0.5] == pytest.approx(1 - 0.5 / math.e)
    assert float(tradeoff.posterior_belief(0.5, 1.0)) == pytest.approx(1 / (1 + math.exp(-1)))


@pytest.mark.parametrize(
    "call", [lambda: tradeoff.gdp_tradeoff(-1, 0.1), lambda: tradeoff.dp_tradeoff(1, 0, 2.0), lambda: tradeoff.posterior_belief(0, 1)]
)
def test_wrong_input(call: object) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        call()  # pyright: ignore[reportCallIssue]
