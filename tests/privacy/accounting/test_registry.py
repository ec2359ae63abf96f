"""Adding an accountant is one entry: bounds, curves, the command line and the charts follow from it."""

import pytest
from dp_accounting import dp_event

from workbench.privacy.accounting.accountants import ACCOUNTANTS, Accountant
from workbench.privacy.accounting.accountants.mechanisms import Composition, ExactGaussian, SampledGaussian
from workbench.privacy.accounting.bounds import event_bound
from workbench.privacy.accounting.curves import exact_accountants, poisson_gaussian_curve
from workbench.privacy.accounting.stages import Stage
from workbench.ui import theme

STEPS = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.011, dp_event.GaussianDpEvent(1.3)), 97)


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
