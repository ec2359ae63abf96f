"""Adding an accountant is one entry: bounds, curves, the command line and the charts follow from it; and what every entry owes."""

import math

import pytest
from dp_accounting import dp_event

from workbench.errors import RefusedError
from workbench.privacy.accounting.accountants import ACCOUNTANTS, Accountant
from workbench.privacy.accounting.accountants.mechanisms import Composition, ExactGaussian, LibraryEvent, SampledGaussian, Unbounded
from workbench.privacy.accounting.bounds import event_bound
from workbench.privacy.accounting.curves import exact_accountants, poisson_gaussian_curve
from workbench.privacy.accounting.gaussian import gdp_delta, sampled_delta
from workbench.privacy.accounting.stages import Stage
from workbench.ui import theme

STEPS = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.011, dp_event.GaussianDpEvent(1.3)), 97)


EVERY = pytest.mark.parametrize("accountant", ACCOUNTANTS.values(), ids=list(ACCOUNTANTS))
STRANGE = LibraryEvent(dp_event.UnsupportedDpEvent(), "ADD_OR_REMOVE_ONE")


@EVERY
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_a_bound_is_not_below_the_exact_profile(accountant: Accountant, delta: float) -> None:
    for mu, steps in ((1e-3, 1), (0.3, 25), (1.5, 1), (8.0, 1)):
        if accountant.proves({ExactGaussian(mu): steps}):
            assert gdp_delta(mu * math.sqrt(steps), accountant.epsilon({ExactGaussian(mu): steps}, delta)) <= delta * (1 + 1e-9)
    for rate, noise_multiplier in ((0.01, 0.6), (0.2, 1.3), (0.9, 4.0)):
        step: Composition = {SampledGaussian(rate, noise_multiplier): 1}
        if accountant.proves(step):
            assert sampled_delta(rate, 1 / noise_multiplier, accountant.epsilon(step, delta)) <= delta * (1 + 1e-9)


@EVERY
def test_nothing_costs_nothing_and_what_has_no_bound_costs_everything(accountant: Accountant) -> None:
    assert accountant.epsilon({}, 1e-5) == 0.0
    assert accountant.epsilon({Unbounded("It shows a record."): 1, ExactGaussian(1.0): 1}, 1e-5) == math.inf


@EVERY
def test_a_mechanism_that_is_not_known_is_refused_by_name(accountant: Accountant) -> None:
    with pytest.raises(RefusedError, match="UnsupportedDpEvent"):
        accountant.epsilon({STRANGE: 1}, 1e-5)


def nearly_nothing(_composition: Composition, _delta: float) -> float:
    return 0.0625


def test_an_accountant_that_proves_bounds_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ACCOUNTANTS, "small", Accountant("Small", nearly_nothing))
    bound = event_bound(STEPS, 1.7e-6, "ADD_OR_REMOVE_ONE")
    assert (bound.epsilon, bound.accountant) == (0.0625, "Small")
    assert poisson_gaussian_curve([1.3], 0.011, 97, 1.7e-6)["small"] == [0.0625]
    legend, line = theme.accountant_line("small")
    assert (legend, line["dash"]) == ("Small (upper bound)", "solid")
    assert line["color"] not in {theme.accountant_line(name)[1]["color"] for name in ("gdp", "rdp", "pld")}


def test_an_approximation_never_makes_a_bound_unless_it_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(_composition: Composition) -> bool:
        return True

    before = event_bound(STEPS, 1.9e-6, "ADD_OR_REMOVE_ONE")
    approximation = Accountant("Small", nearly_nothing, status="approximation")
    monkeypatch.setitem(ACCOUNTANTS, "small", approximation)
    assert event_bound(STEPS, 1.8e-6, "ADD_OR_REMOVE_ONE").accountant == before.accountant
    assert theme.accountant_line("small")[1]["dash"] == "dash"
    exact = Accountant("Small", nearly_nothing, status="approximation", is_exact=always)
    monkeypatch.setitem(ACCOUNTANTS, "small", exact)
    assert event_bound(STEPS, 2.1e-6, "ADD_OR_REMOVE_ONE").accountant == "Small, exact"


def test_the_central_limit_is_exact_without_sampling_alone() -> None:
    gdp = ACCOUNTANTS["gdp"]
    assert gdp.proves({ExactGaussian(0.7): 1})
    assert not gdp.proves({ExactGaussian(0.7): 1, SampledGaussian(0.1, 1.0): 1})
    assert ACCOUNTANTS["pld"].proves({SampledGaussian(0.1, 1.0): 1})
    single = Stage("one", dp_event.GaussianDpEvent(2.0), "once", 1, ("ADD_OR_REMOVE_ONE",))
    assert exact_accountants([single]) == {"gdp"}
    assert exact_accountants([Stage("steps", STEPS, "once", 1, ("ADD_OR_REMOVE_ONE",))]) == set()
