"""What the worker does, in this process: the order of checkpoint, ledger and step, resumes, failures, and the noise key's end."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.homes import here

from workbench import experiment
from workbench.jobs.heartbeat import Progress, StopSignal
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import fitting
from workbench.runs.folder import RunFolder
from workbench.runs.recorder import SpentEpsilon
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training import checkpoints
from workbench.training.state import load_saved

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


class Crashed(BaseException):
    """Stands in for SIGKILL: nothing in the worker may catch it."""


def crash_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next fit die after `steps` steps, as if it had been killed."""
    real = experiment.fit

    def dying(*arguments: Any) -> Iterator[Any]:
        for taken, step in enumerate(real(*arguments), start=1):
            yield step
            if taken == steps:
                monkeypatch.setattr(experiment, "fit", real)
                raise Crashed

    monkeypatch.setattr(experiment, "fit", dying)


def crash(run: Run, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a run until it is killed, and leave it lost."""
    crash_after(steps, monkeypatch)
    with pytest.raises(Crashed):
        worker.main(here(), run.id)
    RunStore(here()).change(run.id, {"running"}, "lost", state="lost", process=None)


def work_again(run_id: str) -> Run:
    """A second attempt, in this process."""
    attempt = RunStore(here()).get(run_id).attempt + 1
    RunStore(here()).change(run_id, {"lost", "failed", "cancelled"}, "started", state="starting", attempt=attempt, process=None)
    worker.main(here(), run_id)
    return RunStore(here()).get(run_id)


def counts(run_id: str) -> dict[str, tuple[int, int]]:
    return {stage.stage: (stage.charged, stage.charged_again) for stage in Ledger(here().ledger).spent(run_id) if stage.spent != "free"}


def key_of(run_id: str) -> str:
    return load_saved(RunFolder(here(), run_id).checkpoint)["state"]["randomness"]["key"]


def assert_same_model(one: Run, other: Run) -> None:
    left, right = (load_saved(RunFolder(here(), run.id).model)["modules"] for run in (one, other))
    for name, module in left.items():
        for key, value in module.items():
            assert torch.equal(value, right[name][key]), (name, key)


@pytest.mark.parametrize("method", ["nonprivate", "dp-merf", "private-evolution", "dp-promise"])
def test_a_run_ends_with_its_weights_its_account_and_no_key(method: str, quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan(method))
    folder = RunFolder(here(), run.id)
    assert (run.state, run.step, run.error) == ("done", run.steps, None)
    assert run.epsilon_spent == run.bound.epsilon == quick_plan(method).bound.epsilon
    assert run.releasable is (method != "nonprivate")
    assert {path.name for path in folder.path.iterdir()} == {
        "environments.jsonl",
        "plan.json",
        "metrics.jsonl",
        "model.pt",
        "previews",
        "samples",
        "worker.lock",
        *(["microbatch"] if method == "dp-promise" else []),
    }
    assert folder.preview() is not None
    assert set(load_saved(folder.model)["modules"]) | set(load_saved(folder.model)["tensors"]) <= set(quick_plan(method).build().released)
    assert all(again == 0 for _, again in counts(run.id).values())
    assert Ledger(here().ledger).entries()[0].closed_at is not None


def test_the_first_checkpoint_is_written_before_the_first_step(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = queue(quick_plan())
    seen = []
    real = Ledger.charge

    def charge(ledger: Ledger, run_id: str, stage: str, step: int) -> None:
        seen.append((RunFolder(here(), run_id).checkpoint.exists(), key_of(run_id)))
        real(ledger, run_id, stage, step)

    monkeypatch.setattr(Ledger, "charge", charge)
    worker.main(here(), run.id)
    assert seen
    assert all(exists for exists, _ in seen)
    assert len({key for _, key in seen}) == 1


def test_nothing_but_the_checkpoints_ever_holds_the_key(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    run = queue(quick_plan("dp-promise"))
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", 0.0)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0")
    crash(run, 5, monkeypatch)
    key = key_of(run.id)

    def holders() -> set[str]:
        texts = [(path, path.read_bytes()) for path in workbench_home.rglob("*") if path.is_file()]
        return {path.name for path, content in texts if key.encode() in content or bytes.fromhex(key) in content}

    assert holders() == {"checkpoint.pt", "checkpoint.pt.previous"}
    assert work_again(run.id).state == "done"
    assert holders() == set()


KILLED = [
    ("nonprivate", 3),
    ("dp-merf", 4),
    ("private-evolution", 2),
    ("private-evolution", 3),
    ("dp-promise", 1),
    ("dp-promise", 4),
    ("dp-promise", 7),
]


@pytest.mark.parametrize(("method", "steps"), KILLED)
def test_a_killed_run_resumes_to_the_weights_of_an_uninterrupted_one(
    method: str, steps: int, quick_plan: PlanMaker, queue: Make, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_here(quick_plan(method), seed=5)
    run = queue(quick_plan(method), seed=5)
    crash(run, steps, monkeypatch)
    before = counts(run.id)
    resumed = work_again(run.id)
    assert (resumed.state, resumed.attempt) == ("done", 2)
    assert_same_model(whole, resumed)
    assert all(charged <= counts(run.id)[stage][0] for stage, (charged, _) in before.items())
    assert all(again == 0 for _, again in counts(run.id).values())
    assert not resumed.releasable


def test_a_changed_environment_draws_new_noise_and_counts_the_replayed_steps_again(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(quick_plan("dp-promise"))
    crash(run, 5, monkeypatch)  # after 2 public steps, 3 of phase I; the checkpoint is that of the start
    key, stages = key_of(run.id), list(counts(run.id))
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    crash_again = RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=2, process=None)
    crash(crash_again, 1, monkeypatch)
    assert key_of(run.id) != key
    assert [counts(run.id)[stage][1] for stage in stages] == [3, 0]
    done = work_again(run.id)
    assert [counts(run.id)[stage] for stage in stages] == [(3, 3), (4, 0)]
    assert done.bound.epsilon == done.epsilon_spent > quick_plan("dp-promise").bound.epsilon
    assert done.releasable


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_a_step_that_asks_to_be_kept_is_never_taken_again(
    steps: int, quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates are on the disk before they are voted on, noisy votes before anything else is done: nothing is counted twice elsewhere."""
    run = queue(quick_plan("private-evolution"))
    crash(run, steps, monkeypatch)
    kept = load_saved(RunFolder(here(), run.id).checkpoint)["state"]
    assert kept["steps"] == {"candidates": (steps + 1) // 2} | ({"votes": steps // 2} if steps > 1 else {})
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    assert work_again(run.id).state == "done"
    assert counts(run.id) == {"votes": (2, 0)}
    last = load_saved(RunFolder(here(), run.id).model)
    if steps > 2:
        assert torch.equal(last["modules"]["candidates"]["images"], kept["modules"]["candidates"]["images"])


def test_a_math_library_that_computes_otherwise_counts_the_replayed_steps_again(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe alone tells: the variable's name is not looked at here, and the worker is a process of its own."""
    setting = "ONEDNN_MAX_CPU_ISA=SSE41"
    run = queue(quick_plan("dp-promise"))
    crash(run, 5, monkeypatch)
    RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=2, process=None)
    code = "import sys; from workbench.training import checkpoints; checkpoints.asked_of_libraries = str; "
    code += "from workbench.tasks import worker; from workbench.workspace import Workspace; "
    code += "sys.exit(worker.main(Workspace.default(), sys.argv[1]))"
    name, value = setting.split("=")
    variables = {**os.environ, name: value}
    resumed = subprocess.run([sys.executable, "-c", code, run.id], env=variables, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    if "drawn anew" not in resumed.stdout:
        assert arithmetic_in(variables) == arithmetic_in(dict(os.environ)), "the digests differ and nothing was counted again"
        pytest.skip(f"{setting} changes no bit on this processor")
    assert "arithmetic:" in resumed.stdout
    assert [again for _, again in counts(run.id).values()] == [3, 0]


def arithmetic_in(variables: dict[str, str]) -> str:
    """The digest of a process's arithmetic."""
    code = "import torch; torch.set_num_threads(1); from workbench.training.arithmetic import probe, SMALL; "
    code += "print(probe(*SMALL, '{}', ()).hex())"
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True).stdout


def test_a_lost_ledger_is_brought_up_to_the_checkpoint_and_what_it_counted_again(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    run = queue(quick_plan("dp-promise"))
    crash(run, 5, monkeypatch)
    stages = list(counts(run.id))
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    crash(RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=2, process=None), 1, monkeypatch)
    for path in workbench_home.glob("ledger.sqlite*"):
        path.unlink()
    assert work_again(run.id).state == "done"
    assert [counts(run.id)[stage] for stage in stages] == [(3, 3), (4, 0)]


def test_cancelling_keeps_every_step(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = queue(quick_plan("nonprivate"))
    real = experiment.fit

    def cancelled_after_two(*arguments: Any) -> Iterator[Any]:
        for step in real(*arguments):
            if step.step == 2:
                signal.raise_signal(signal.SIGTERM)
            yield step

    monkeypatch.setattr(experiment, "fit", cancelled_after_two)
    worker.main(here(), run.id)
    cancelled = RunStore(here()).get(run.id)
    assert (cancelled.state, cancelled.step) == ("cancelled", 2)
    assert load_saved(RunFolder(here(), run.id).checkpoint)["state"]["steps"] == {"training": 2}
    monkeypatch.setattr(experiment, "fit", real)
    resumed = work_again(run.id)
    assert (resumed.state, resumed.resumed_at) == ("done", 2)


def test_a_run_cancelled_while_it_loads_never_touches_a_record(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    RunStore(here()).change(run.id, {"starting"}, "cancelled", state="cancelling")
    worker.main(here(), run.id)
    assert RunStore(here()).get(run.id).state == "cancelled"
    assert counts(run.id) == {"release": (0, 0)}


def test_a_spent_run_without_its_checkpoint_is_not_started_over(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(quick_plan())
    crash(run, 2, monkeypatch)
    RunFolder(here(), run.id).erase_checkpoint()
    failed = work_again(run.id)
    assert failed.state == "failed"
    assert "its checkpoint is gone" in str(failed.error)


def test_an_end_between_erasing_the_key_and_saying_so_is_an_end(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    RunStore(here()).change(run.id, {"done"}, "lost", state="lost")
    assert work_again(run.id).state == "done"


def test_a_ledger_that_cannot_be_written_stops_the_step(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def charge(*_arguments: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "charge", charge)
    run = queue(quick_plan())
    worker.main(here(), run.id)
    failed = RunStore(here()).get(run.id)
    assert failed.state == "failed"
    assert "the step was not taken" in str(failed.error)
    assert failed.step == 0


def test_an_error_in_the_method_is_one_sentence_and_the_trace_is_in_the_log(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fit(*_arguments: Any) -> Iterator[Any]:
        raise FloatingPointError("loss is nan")
        yield

    monkeypatch.setattr(experiment, "fit", fit)
    run = queue(quick_plan())
    assert worker.main(here(), run.id) == 1
    assert RunStore(here()).get(run.id).error == "FloatingPointError: loss is nan"
    assert "Traceback" in capsys.readouterr().err


def test_records_that_changed_since_the_plan_fail_the_run(quick_plan: PlanMaker, queue: Make, workbench_home: Path) -> None:
    run = queue(quick_plan())
    with sqlite3.connect(RunStore(here()).path) as connection:
        connection.execute("UPDATE runs SET fingerprint = '0' WHERE id = ?", (run.id,))
    worker.main(here(), run.id)
    assert "no longer those that run" in str(RunStore(here()).get(run.id).error)


def test_a_worker_whose_run_was_taken_over_leaves_it_alone(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = queue(quick_plan("nonprivate"))
    stop = StopSignal()
    real = experiment.fit

    def taken_over(*arguments: Any) -> Iterator[Any]:
        for step in real(*arguments):
            stop.taken_over = True
            yield step

    monkeypatch.setattr(experiment, "fit", taken_over)
    fit = fitting.FitAttempt(here(), run, Progress(), stop)
    first = time.time_ns()
    fit.run()
    assert not RunFolder(here(), run.id).model.exists()
    assert load_saved(RunFolder(here(), run.id).checkpoint)["state"]["steps"] == {}
    assert RunFolder(here(), run.id).checkpoint.stat().st_mtime_ns < time.time_ns() > first


def test_the_epsilon_shown_never_lags_behind_and_ends_at_the_bound(quick_plan: PlanMaker) -> None:
    plan = quick_plan("dp-promise")
    stages = plan.stages
    paid = [stage for stage in stages if stage.spent != "free"]
    shown = SpentEpsilon(stages, plan.delta, plan.bound.epsilon, {}, {}, parts=2)
    assert shown.value == 0.0
    values = []
    for number, stage in enumerate(paid):
        for step in range(1, stage.steps + 1):
            values.append(shown.cover(stage.name, step))
            exact = SpentEpsilon(stages, plan.delta, plan.bound.epsilon, {p.name: p.steps for p in paid[:number]} | {stage.name: step}, {})
            assert values[-1] >= exact.value - 1e-9
    assert values == sorted(values)
    assert values[-1] == plan.bound.epsilon


def test_two_workers_never_share_a_run(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    with contextlib.suppress(Exception):
        worker.claim(here(), run.id)
    RunStore(here()).change(run.id, {"starting"}, "changed", process={**(RunStore(here()).get(run.id).process or {}), "pid": 1})
    with pytest.raises(ValueError, match=r"belongs to another process|lost"):
        worker.claim(here(), run.id)


def test_a_run_goes_on_from_no_other_run_s_checkpoint(quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of one plan would draw the same noise over other results."""
    first, second = queue(quick_plan()), queue(quick_plan())
    for run in (first, second):
        crash(run, 2, monkeypatch)
    shutil.copy(RunFolder(here(), first.id).checkpoint, RunFolder(here(), second.id).checkpoint)
    failed = work_again(second.id)
    assert failed.state == "failed"
    assert f"got that of run '{first.id}'" in (failed.error or "")
    assert work_again(first.id).state == "done"


def test_a_folder_in_a_checkpoint_s_place_is_said_and_goes_with_the_run(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(quick_plan())
    crash(run, 2, monkeypatch)
    folder = RunFolder(here(), run.id)
    folder.checkpoint.unlink()
    folder.checkpoint.mkdir()
    (folder.checkpoint / "note.txt").write_text("not ours")
    failed = work_again(run.id)
    assert failed.state == "failed"
    assert "got a folder" in (failed.error or "")
    folder.remove()
    assert not folder.path.exists()
