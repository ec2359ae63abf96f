"""Two paid stages that take turns: killed anywhere, a run's account never falls short of what was taken, and its resume repeats it."""

from collections.abc import Callable

import pytest
from runs.test_fitting import assert_same_model, counts, crash, work_again
from support.homes import here
from support.odd_methods import join_registry, odd
from support.quick import quick_plan

from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training import checkpoints
from workbench.training.state import load_saved

TAKEN = {2: {"student": 1, "critic": 1}, 5: {"student": 2, "critic": 3}, 7: {"student": 3, "critic": 4}}  # after so many steps


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Plan:
    join_registry(monkeypatch)
    plan = quick_plan(odd("odd-taking-turns").name)
    assert [(stage.name, stage.steps) for stage in plan.stages] == [("student", 3), ("critic", 4)]
    return plan


@pytest.mark.parametrize("steps", TAKEN)
def test_killed_between_turns_it_goes_on_as_if_it_had_not_been(
    steps: int, turns: Plan, queue: Callable[..., Run], train_here: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(turns, seed=5)
    crash(run, steps, monkeypatch)
    assert {stage: charged for stage, (charged, _) in counts(run.id).items()} == TAKEN[steps]
    resumed = work_again(run.id)
    assert resumed.state == "done"
    assert counts(run.id) == {"student": (3, 0), "critic": (4, 0)}
    assert resumed.epsilon_spent == Ledger(here().ledger).epsilon_spent(run.id, run.delta).epsilon == turns.bound.epsilon
    assert_same_model(train_here(turns, seed=5), resumed)


def test_elsewhere_the_steps_of_both_are_counted_again(turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = queue(turns)
    crash(run, 5, monkeypatch)
    kept = load_saved(RunFolder(here(), run.id).checkpoint)["state"]["steps"]
    replayed = {stage: charged - kept.get(stage, 0) for stage, charged in TAKEN[5].items()}
    assert min(replayed.values()) > 0, "both have steps that no checkpoint has"
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    crash(RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=2, process=None), 3, monkeypatch)
    assert {stage: again for stage, (_, again) in counts(run.id).items()} == replayed
    done = work_again(run.id)
    assert counts(run.id) == {stage.name: (stage.steps, replayed[stage.name]) for stage in turns.stages}
    assert done.bound.epsilon == done.epsilon_spent > turns.bound.epsilon
