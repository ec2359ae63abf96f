"""What a second start of an equal plan would spend, which is asked about beforehand."""

import math

import pytest
from support.homes import here

from workbench import experiment, runs
from workbench.datasets import Dataset
from workbench.jobs import control
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.again import account_with, repetition
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings

MU = 0.5  # of one release with this plan's noise, where one record becomes a null record


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return experiment.load("digits")


def planned(digits: Dataset, mu: float = MU) -> Plan:
    """A release of `mu`-GDP under the zero-out relation (2 `mu` where a record is replaced), and steps that cost nothing."""
    return experiment.make_plan("dp-merf", digits.facts, settings={"noise_multiplier": 1 / (2 * mu), "training.steps": 3}, delta=1e-5)


def queued(digits: Dataset, plan: Plan) -> Run:
    """A run that has been started and whose process has not opened its account yet."""
    return runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu"), loaded=digits)


def test_a_run_of_a_moment_ago_counts_before_its_account_is_open(digits: Dataset) -> None:
    plan = planned(digits)
    assert repetition(here(), plan, digits) is None
    first = queued(digits, plan)
    repeat = repetition(here(), planned(digits), digits)
    assert repeat is not None
    both = gdp_epsilon(math.sqrt(2) * MU, 1e-5)
    assert repeat.run.id == first.id
    assert f"Another one spends {plan.bound.epsilon:.4g} more" in repeat.question
    assert f"the account of 'digits' would stand at epsilon {both:.4g}" in repeat.question
    assert plan.bound.epsilon < both < 2 * plan.bound.epsilon
    queued(digits, planned(digits, 2 * MU))  # another plan on the same account
    three = account_with(here(), plan, digits.fingerprint(here().key))
    assert three.epsilon == pytest.approx(gdp_epsilon(math.sqrt(6) * MU, 1e-5), rel=1e-6)


def test_a_run_on_the_same_people_under_another_name_is_on_the_account(digits: Dataset) -> None:
    moved, plan = experiment.load("permuted-digits"), planned(digits)
    same_people = runs.register(here(), planned(moved), "permuted-digits", performance=PerformanceSettings(device="cpu"), loaded=moved)
    assert repetition(here(), plan, digits) is None, "its records are others"
    both = pytest.approx(gdp_epsilon(math.sqrt(2) * MU, 1e-5), rel=1e-6)
    assert account_with(here(), plan, digits.fingerprint(here().key)).epsilon == both
    RunStore(here()).change(same_people.id, {"queued"}, "failed", state="failed")
    Ledger(here().ledger).open_run("elsewhere", "print", "digits", plan.method, plan.stages, plan.delta)
    Ledger(here().ledger).charge("elsewhere", plan.stages[0].name, 1)
    assert account_with(here(), planned(moved), moved.fingerprint(here().key)).epsilon == both


def test_other_plans_other_records_and_runs_that_touched_nothing_are_no_repetition(digits: Dataset) -> None:
    plan = planned(digits)
    run = queued(digits, plan)
    assert repetition(here(), planned(digits, 2 * MU), digits) is None
    other = experiment.load("digits-validation")
    assert repetition(here(), plan, other) is None
    RunStore(here()).change(run.id, {"queued"}, "failed", state="failed", error="no memory")
    assert repetition(here(), plan, digits) is None


def test_a_stopped_run_that_has_spent_is_to_be_resumed_and_counts_once(digits: Dataset) -> None:
    plan = planned(digits)
    run = queued(digits, plan)
    ledger = Ledger(here().ledger)
    ledger.open_run(run.id, run.fingerprint, "digits", plan.method, plan.stages, plan.delta)
    ledger.charge(run.id, plan.stages[0].name, 1)
    RunStore(here()).change(run.id, {"queued"}, "lost", state="lost", epsilon_spent=plan.bound.epsilon)
    repeat = repetition(here(), plan, digits)
    assert repeat is not None
    assert "Resuming it spends only what is left." in repeat.question
    total = account_with(here(), plan, digits.fingerprint(here().key))
    assert total.epsilon == pytest.approx(gdp_epsilon(math.sqrt(2) * MU, 1e-5), rel=1e-6)


def test_what_waits_counts_against_the_budget_and_what_was_cancelled_waiting_does_not(digits: Dataset) -> None:
    plan = planned(digits)
    Ledger(here().ledger).set_budget("digits", gdp_epsilon(1.2 * MU, plan.delta), plan.delta)
    assert runs.budget_warning(here(), plan, digits) is None
    waiting = queued(digits, plan)
    warning = runs.budget_warning(here(), plan, digits)
    assert warning is not None
    assert f"with this run to {gdp_epsilon(math.sqrt(2) * MU, plan.delta):.4g}" in warning
    control.request_cancel(here(), waiting.id)
    assert runs.budget_warning(here(), plan, digits) is None
    assert Ledger(here().ledger).entries() == []
