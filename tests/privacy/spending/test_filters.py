"""A budget has room again for what a run that ended early did not take, as far as a Renyi filter proves it."""

import math
from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending import filters
from workbench.privacy.spending.filters import epsilon_at_order, orders_for, passes_filter
from workbench.privacy.spending.ledger import Ledger

DELTA = 1e-5
SGD = Stage("train", PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), "per_step", 1000)
GAUSSIAN = Stage("release", GaussianDpEvent(4.0), "once")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger with a run of 1000 steps, of which 100 were taken."""
    made = Ledger(tmp_path / "ledger.sqlite")
    made.open_run("early", "data", "digits", "dpdm", [SGD], DELTA)
    made.charge("early", "train", 100)
    return made


def bound_of(*stages: Stage) -> float:
    return proved_bound([Stage(one.name, one.event, one.spent, one.steps, ("REPLACE_SPECIAL",)) for one in stages], DELTA).epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (10.0, 1e-6)])
def test_the_highest_order_is_that_at_which_gaussian_noise_uses_all_of_the_budget(epsilon: float, delta: float) -> None:
    """With rho + 2 sqrt(rho L) = epsilon the best order is 1 + sqrt(L/rho): there rho a + L/(a - 1) is epsilon, and nowhere less."""
    order, log = max(orders_for(epsilon, delta)), -math.log(delta)
    rho = log / (order - 1) ** 2
    assert rho * order + log / (order - 1) == pytest.approx(epsilon)
    for other in (0.9 * order, 1.1 * order):
        assert rho * other + log / (other - 1) > epsilon or other <= 1


@pytest.mark.parametrize("order", [1.5, 7.3, 40.0])
def test_one_order_is_a_bound_and_no_order_is_below_the_best(order: float) -> None:
    assert epsilon_at_order([SGD, GAUSSIAN], order, DELTA) >= bound_of(SGD, GAUSSIAN)
    divergence = order / (2 * 4.0**2)
    expected = divergence + math.log1p(-1 / order) - (math.log(DELTA) + math.log(order)) / (order - 1)
    assert epsilon_at_order([GAUSSIAN], order, DELTA) == pytest.approx(expected, rel=1e-6)


def test_a_total_counts_every_step_and_a_budget_those_that_were_taken(ledger: Ledger) -> None:
    ledger.set_budget("digits", 1.3 * bound_of(SGD, Stage("train", SGD.event, "per_step", 100)), DELTA)
    assert ledger.warning_before("digits", [SGD], DELTA) is not None
    ledger.close_run("early", ended_early=True)
    assert ledger.total("digits").epsilon == pytest.approx(bound_of(SGD))
    assert ledger.warning_before("digits", [SGD], DELTA) is None
    twice = Stage("train", SGD.event, "per_step", 2000)
    assert ledger.warning_before("digits", [twice], DELTA) is not None


def test_other_runs_and_those_that_wait_count_whole_beside_it(ledger: Ledger) -> None:
    ledger.set_budget("digits", 1.3 * bound_of(SGD, Stage("train", SGD.event, "per_step", 100)), DELTA)
    ledger.close_run("early", ended_early=True)
    assert ledger.warning_before("digits", [SGD], DELTA, waiting=[("next", [SGD])]) is not None
    ledger.open_run("open", "data", "digits", "dpdm", [SGD], DELTA)
    assert ledger.warning_before("digits", [SGD], DELTA) is not None


def test_it_stays_so_when_its_run_is_deleted_and_ends_when_it_goes_on(ledger: Ledger) -> None:
    ledger.close_run("early", ended_early=True)
    ledger.close_run("early")
    assert ledger.entry("early").ended_early
    ledger.open_run("early", "data", "digits", "dpdm", [SGD], DELTA)
    assert not ledger.entry("early").ended_early


def test_another_home_learns_that_it_ended_early(ledger: Ledger, tmp_path: Path) -> None:
    ledger.close_run("early", ended_early=True)
    other = Ledger(tmp_path / "other.sqlite")
    other.open_run("early", "data", "digits", "dpdm", [SGD], DELTA)
    other.take_over(ledger.entry("early"))
    assert other.entry("early").ended_early
    assert other.total("digits", delta=DELTA).epsilon == pytest.approx(bound_of(SGD))


def test_each_order_has_its_part_of_delta(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    """Four orders at delta each would be four limits, of which the best was chosen afterwards."""
    ledger.close_run("early", ended_early=True)
    evaluated: list[tuple[float, float]] = []

    def infinite(_stages: object, order: float, delta: float) -> float:
        evaluated.append((order, delta))
        return math.inf

    monkeypatch.setattr(filters, "epsilon_at_order", infinite)
    assert not passes_filter(ledger.entries("digits"), [("new", [GAUSSIAN])], 2.0, DELTA)
    assert [order for order, _ in evaluated] == orders_for(2.0, DELTA)
    assert math.fsum(delta for _, delta in evaluated) <= DELTA


def test_what_no_divergence_is_known_of_passes_no_filter(ledger: Ledger) -> None:
    ledger.close_run("early", ended_early=True)
    unproved = Stage("unproved", UnprovedDpEvent("Nobody knows."), "once")
    assert passes_filter(ledger.entries("digits"), [("new", [GAUSSIAN])], 100.0, DELTA)
    assert not passes_filter(ledger.entries("digits"), [("new", [GAUSSIAN, unproved])], 100.0, DELTA)
    assert not passes_filter([], [("new", [GAUSSIAN])], 100.0, DELTA)
