"""What keeps an account from falling short: of runs that failed or vanished, of two workers, of replaced checkpoints."""

import fcntl
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import pytest
from support.disk import full_disk
from support.homes import here
from support.launchers import Nowhere

from workbench import runs
from workbench.datasets import load
from workbench.errors import BudgetWarning, WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.models.embeddings import releases
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.sqlite import Database
from workbench.tasks import worker

Make = Callable[..., Run]


def test_a_run_that_fails_reports_what_the_ledger_charged(
    quick_plan: Callable[..., Any], queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_arguments: Any) -> None:
        raise RuntimeError("after the charge")

    monkeypatch.setattr(releases, "summed", explode)
    run = queue(quick_plan("dp-merf"))
    worker.main(here(), run.id)
    failed = RunStore(here()).get(run.id)
    assert failed.state == "failed"
    assert failed.epsilon_spent == Ledger(here().ledger).epsilon_spent(run.id, run.delta).epsilon == pytest.approx(run.bound.epsilon)


def test_a_worker_that_can_tell_nobody_how_it_ended_leaves_it_in_its_log(
    quick_plan: Callable[..., Any], queue: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, full = queue(quick_plan("dp-merf")), ExitStack()

    def fill(*_arguments: Any) -> None:
        full.enter_context(full_disk())
        raise FloatingPointError("loss is nan")

    monkeypatch.setattr(releases, "summed", fill)
    with full:
        assert worker.main(here(), run.id) == 1
    said = capsys.readouterr().out
    assert "The registry could not be told how it ended: disk I/O error." in said
    assert f"Job {run.id}: failed. FloatingPointError: loss is nan" in said
    RunStore(here()).change(run.id, {"running"}, "killed", process=None, heartbeat=1.0)
    with monkeypatch.context() as closed:
        closed.setattr(Database, "transaction", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("read-only")))
        assert RunStore(here()).get(run.id).state == Jobs(here()).get(run.id).state == "lost", "shown so, though nothing can be written"
    with closing(sqlite3.connect(here().registry)) as connection:
        assert connection.execute("SELECT state FROM jobs").fetchall() == [("running",)]
    lost = RunStore(here()).get(run.id)
    assert (lost.state, lost.epsilon_spent) == ("lost", pytest.approx(run.bound.epsilon))


def test_a_lost_run_reports_what_the_ledger_charged(quick_plan: Callable[..., Any], queue: Make) -> None:
    run = queue(quick_plan("dp-merf"))
    stages = quick_plan("dp-merf").stages
    Ledger(here().ledger).open_run(run.id, run.fingerprint, run.dataset, run.method, stages, run.delta)
    Ledger(here().ledger).charge(run.id, "release", 1)
    RunStore(here()).change(run.id, {"starting"}, "aged", state="running", heartbeat=1.0)
    assert Jobs(here()).get(run.id).state == "lost", "whoever finds the death, the engine knows of no ledger"
    lost = RunStore(here()).get(run.id)
    assert (lost.state, lost.epsilon_spent) == ("lost", pytest.approx(run.bound.epsilon))
    with closing(sqlite3.connect(here().registry)) as connection:
        assert connection.execute("SELECT epsilon_spent, settled FROM runs").fetchall() == [(lost.epsilon_spent, run.attempt)]


def test_a_second_worker_and_a_late_one_touch_nothing(quick_plan: Callable[..., Any], queue: Make) -> None:
    run = queue(quick_plan("dp-merf"))
    with RunFolder(here(), run.id).worker_lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkbenchError, match="Another process"):
            worker.main(here(), run.id)
    with pytest.raises(WorkbenchError, match="started for attempt 7"):
        worker.main(here(), run.id, 7)
    assert RunStore(here()).get(run.id).state == "starting"
    assert not RunFolder(here(), run.id).checkpoint.exists()


def test_measures_of_a_run_that_may_not_leave_may_not_leave(quick_plan: Callable[..., Any], train_here: Make) -> None:
    for method, seed, releasable in (("nonprivate", None, False), ("dp-merf", 0, False), ("dp-merf", None, True)):
        run = train_here(quick_plan(method), seed=seed)
        (measured,) = finished.evaluate_run(here(), run.id, 20, metrics=["inception_score"])["results"]
        assert measured["releasable"] is releasable


def test_a_clone_keeps_what_the_original_was_given(
    quick_plan: Callable[..., Any], train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train_here(quick_plan("dp-merf", hidden_size=40), seed=3)
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    cloned = runs.clone(here(), run.id, {"training.learning_rate": 0.5})
    expected = run.config | {"training": {**run.config["training"], "learning_rate": 0.5}}
    assert cloned.config == expected
    assert cloned.bound == run.bound
    assert (run.seed, cloned.seed, cloned.releasable) == (3, None, True), "noise of its own, which nobody knows"


def test_every_way_to_launch_warns_of_a_budget_that_may_be_exceeded(quick_plan: Callable[..., Any], queue: Make) -> None:
    run = queue(quick_plan("dp-merf"))
    Ledger(here().ledger).set_budget(run.fingerprint, 1.0, 1e-4)
    with pytest.warns(BudgetWarning, match="budget"):
        runs.register(here(), quick_plan("dp-merf"), "digits")


def test_measures_refuse_records_that_are_not_the_run_s(
    quick_plan: Callable[..., Any], train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, digits = train_here(quick_plan("dp-merf")), load("digits")
    monkeypatch.setattr("workbench.datasets.reference.DatasetRef.load", lambda *_: replace(digits, train=digits.train.take(slice(1, None))))
    for refused in (lambda: finished.evaluate_run(here(), run.id, 20), lambda: finished.neighbours_run(here(), run.id, num_samples=20)):
        with pytest.raises(WorkbenchError, match="no longer those that run"):
            refused()


def test_a_run_that_is_not_finished_is_not_shown_as_releasable(quick_plan: Callable[..., Any], queue: Make, train_here: Make) -> None:
    queued, done = queue(quick_plan("dp-merf")), train_here(quick_plan("dp-merf"))
    assert (queued.may_be_released, done.may_be_released) == (False, True)
    assert "finished" in queued.release_reason
    assert "proved bound" in done.release_reason


def test_the_bound_of_a_replaced_record_is_told_of_what_the_plan_pays_for_alone(quick_plan: Callable[..., Any], queue: Make) -> None:
    run = queue(quick_plan("dp-merf"))
    assert run.replace_one == run.plan.replace_one is not None
    beyond = 1.01 * run.plan.bound.epsilon
    assert run.model_copy(update={"epsilon_spent": beyond}).replace_one is None
    assert run.model_copy(update={"bound": run.bound.model_copy(update={"epsilon": beyond})}).replace_one is None
