"""A run that ends before its last step keeps its model, its whole bound and, for a budget, what it did not take."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.homes import here
from support.quick import quick_plan as quick

from workbench import experiment
from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.launchers import DEFAULT
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import early
from workbench.runs.early import end_early, why_not_early
from workbench.runs.folder import RunFolder
from workbench.runs.launching import resume
from workbench.runs.paid import paid_stages
from workbench.runs.release.export import export_run
from workbench.runs.release.verify import verify
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training import checkpoints

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


@pytest.fixture
def stopped(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    """`stopped(method, steps)`: a run that was cancelled after so many steps, over all stages."""

    def make(method: str, steps: int, **options: Any) -> Run:
        run, fit = queue(quick_plan(method), **options), experiment.fit

        def interrupted(*args: Any) -> Iterator[Any]:
            for number, step in enumerate(fit(*args), start=1):
                if number == steps:
                    os.kill(os.getpid(), signal.SIGTERM)
                yield step

        with monkeypatch.context() as patch:
            patch.setattr(experiment, "fit", interrupted)
            worker.main(here(), run.id)
        run = RunStore(here()).get(run.id)
        assert (run.state, run.step) == ("cancelled", steps)
        return run

    return make


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Run]:
    """`ended(run)`: the run after it was ended early, by the worker's own code in this process."""

    def start(workspace: Any, job_id: str, at_once: bool, on: str) -> None:
        assert (at_once, on) == (True, DEFAULT)
        attempt = RunStore(workspace).get(job_id).attempt + 1
        RunStore(workspace).change(job_id, {"cancelled"}, "started", state="starting", attempt=attempt, process=None)
        worker.main(workspace, job_id)

    monkeypatch.setattr(control, "resume", start)

    def make(run_id: str) -> Run:
        end_early(here(), run_id)
        return RunStore(here()).get(run_id)

    return make


def counts(run_id: str) -> dict[str, tuple[int, int]]:
    return {stage.stage: (stage.charged, stage.charged_again) for stage in Ledger(here().ledger).spent(run_id) if stage.spent != "free"}


def test_it_keeps_its_model_and_its_whole_bound(stopped: Make, ended: Callable[[str], Run]) -> None:
    run = stopped("dp-promise", 7)  # after 2 public steps, 3 of phase one, 2 of 4 of phase two
    done = ended(run.id)
    assert (done.state, done.step, done.error) == ("done", 7, None)
    assert not RunFolder(here(), run.id).checkpoint.exists()
    assert counts(run.id) == {"phase one": (3, 0), "phase two": (2, 0)}
    assert done.bound == done.plan.bound
    assert done.epsilon_spent == done.bound.epsilon
    assert done.releasable
    ledger = Ledger(here().ledger)
    assert {stage.name: stage.steps for stage in paid_stages(done, ledger)} == {"phase one": 3, "phase two": 4}
    assert ledger.total("digits", delta=done.delta).epsilon == pytest.approx(done.bound.epsilon)


def test_what_it_made_is_sampled_exported_and_verified(stopped: Make, ended: Callable[[str], Run], tmp_path: Any) -> None:
    run = ended(stopped("dp-promise", 7).id)
    sample_set(here(), run.id).records(10)
    export_run(here(), run.id, tmp_path / "export.zip")
    assert {name: words for name, words in verify(tmp_path / "export.zip").checks.items() if words} == {}


def test_one_that_was_deleted_counts_as_before(stopped: Make, ended: Callable[[str], Run]) -> None:
    run = ended(stopped("dp-promise", 6).id)
    RunStore(here()).delete(run.id)
    assert Ledger(here().ledger).total("digits", delta=run.delta).epsilon == pytest.approx(run.bound.epsilon)


def test_in_another_environment_no_step_is_drawn_anew(stopped: Make, ended: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped("dp-promise", 7)
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    assert ended(run.id).bound == run.plan.bound
    assert counts(run.id) == {"phase one": (3, 0), "phase two": (2, 0)}


def test_one_that_is_done_is_refused_as_such(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan("dp-merf"))
    with pytest.raises(WorkbenchError, match="Only a run that has not come to its end"):
        end_early(here(), run.id)


def lose_the_ledger() -> None:
    for path in here().home.glob("ledger.sqlite*"):
        path.unlink()


def test_where_the_ledger_was_lost_every_step_counts(stopped: Make, ended: Callable[[str], Run]) -> None:
    """How many steps were taken since the checkpoint is not known any more."""
    run = stopped("dp-promise", 7)
    lose_the_ledger()
    assert ended(run.id).state == "done"
    assert counts(run.id) == {"phase one": (3, 0), "phase two": (4, 0)}
    assert not Ledger(here().ledger).entry(run.id).ended_early


def test_a_ledger_that_knows_less_than_was_taken_is_refused(stopped: Make, ended: Callable[[str], Run]) -> None:
    done = ended(stopped("dp-promise", 7).id)
    lose_the_ledger()
    with pytest.raises(WorkbenchError, match="moved away or replaced"):
        paid_stages(done, Ledger(here().ledger))


def test_a_checkpoint_from_before_the_last_stage_is_no_model(stopped: Make, ended: Callable[[str], Run]) -> None:
    run = stopped("dp-promise", 5)
    RunStore(here()).change(run.id, {"cancelled"}, "killed later", stage="phase two")
    done = ended(run.id)
    assert done.state == "failed"
    assert done.error == "'phase two' has taken 0 of its 4 steps, so the model is not whole. Resume it."
    assert not RunFolder(here(), run.id).model.exists()


@pytest.mark.parametrize(
    ("method", "steps", "why"),
    [
        ("dp-merf", 3, "whole after its last step alone"),
        ("dp-promise", 4, "can be ended early in 'phase two'"),
    ],
)
def test_a_model_that_is_not_whole_is_refused(method: str, steps: int, why: str, stopped: Make) -> None:
    run = stopped(method, steps)
    with pytest.raises(WorkbenchError, match=why):
        end_early(here(), run.id)
    assert not RunStore(here()).get(run.id).ends_early


def test_a_command_asks_first_and_prints_the_run(
    stopped: Make, ended: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del ended  # it has the worker's code carried out here
    run = stopped("dp-promise", 7)
    monkeypatch.setattr("typer.confirm", lambda question, **_: "at step 7 of 9" not in question)
    assert exit_code("finish", run.id) == 1
    assert RunStore(here()).get(run.id).state == "cancelled"
    monkeypatch.setattr(early, "end_early", lambda _, run_id: RunStore(here()).get(run_id))
    assert exit_code("finish", run.id, "--yes") == 0
    assert f'{{"run": "{run.id}"}}' in capsys.readouterr().out


def exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as gone:
        main(arguments)
    return gone.value.code


def test_one_that_goes_on_after_all_takes_every_step(stopped: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped("dp-promise", 7)
    RunStore(here()).change(run.id, {"cancelled"}, "ended early", ends_early=True)
    monkeypatch.setattr(control, "resume", lambda *_: None)
    resume(here(), run.id)
    assert not RunStore(here()).get(run.id).ends_early


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.interruptible])
def test_only_last_stages_may_end_early(name: str) -> None:
    """What comes after one of them would be missing, and what a stage before it releases is taken whole."""
    plan = quick(name)
    method, planned = plan.build(), {stage.name: stage.steps for stage in plan.stages}
    first = min(list(planned).index(stage) for stage in method.interruptible if stage in planned)
    assert set(list(planned)[first:]) <= set(method.interruptible)
    before = {stage: number for stage, number in planned.items() if stage not in method.interruptible}
    assert why_not_early(method, before, planned)
    assert why_not_early(method, before | dict.fromkeys(list(planned)[first:], 1), planned) == ""
