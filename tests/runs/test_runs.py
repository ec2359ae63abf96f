"""Real worker processes: launched, killed, lost, resumed, cancelled, and left alone by whoever launched them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import torch
from support.homes import here

from workbench import runs
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.starting import start
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.serialization import dumps
from workbench.training.state import PerformanceSettings, load_saved

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]
ON_ONE_THREAD = PerformanceSettings(device="cpu", num_threads=1)
STEPS = 120  # of about .05 s, with a checkpoint every .3 s
PATIENCE = 240.0  # seconds; a worker's imports take long on a busy machine


@pytest.fixture(autouse=True)
def frequent_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0.3")


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.05)


def steps_charged(run_id: str) -> int:
    entries = [entry for entry in Ledger(here().ledger).entries() if entry.run_id == run_id]
    return max((stage.charged for entry in entries for stage in entry.stages), default=0)


def process_of(run_id: str) -> psutil.Process:
    process = RunStore(here()).get(run_id).process
    assert process is not None
    return psutil.Process(process["pid"])


LAUNCH = """
import signal, sys, os
from workbench.plan import Plan
from workbench import runs
from workbench.training.state import PerformanceSettings
from workbench.workspace import Workspace
plan = Plan.model_validate_json(sys.stdin.read())
run = runs.launch(Workspace.default(), plan, "digits", performance=PerformanceSettings(device="cpu", num_threads=1), seed=3)
print(run.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_outlives_its_launcher_is_lost_when_killed_and_resumes_to_the_same_weights(quick_plan: PlanMaker, train_here: Make) -> None:
    plan = quick_plan("nonprivate", **{"training.steps": STEPS})
    launcher = subprocess.run([sys.executable, "-c", LAUNCH], input=dumps(plan), capture_output=True, text=True, check=False)
    assert launcher.returncode == -signal.SIGKILL, launcher.stderr
    run_id = launcher.stdout.strip()

    until(lambda: steps_charged(run_id) > 20 and RunFolder(here(), run_id).checkpoint.exists(), "20 steps")
    worker = process_of(run_id)
    assert worker.ppid() not in (os.getpid(), 0)
    assert os.getsid(worker.pid) == worker.pid
    if sys.platform == "linux":
        assert os.readlink(f"/proc/{worker.pid}/fd/0") == os.devnull

    worker.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: RunStore(here()).get(run_id).state == "lost", "the run to be lost")
    assert time.monotonic() - killed < 15
    charged = steps_charged(run_id)
    assert charged < STEPS

    runs.resume(here(), run_id)
    done = runs.wait(here(), run_id, PATIENCE)
    assert (done.state, done.attempt, done.releasable) == ("done", 2, False), RunFolder(here(), run_id).log_tail()
    whole = train_here(plan, seed=3)
    for name, module in load_saved(RunFolder(here(), whole.id).model)["modules"].items():
        again = load_saved(RunFolder(here(), run_id).model)["modules"][name]
        assert all(torch.equal(value, again[key]) for key, value in module.items())


def test_cancel_writes_a_checkpoint_and_resume_ends_the_run(quick_plan: PlanMaker, workbench_home: Path) -> None:
    run = runs.launch(here(), quick_plan("nonprivate", **{"training.steps": STEPS}), "digits", performance=ON_ONE_THREAD)
    with pytest.raises(WorkbenchError, match="Only a paused, cancelled, failed or lost run can be resumed"):
        runs.resume(here(), run.id)
    with pytest.raises(WorkbenchError, match="Cancel it first"):
        runs.delete(here(), run.id)
    until(lambda: steps_charged(run.id) > 5, "5 steps")
    process = RunStore(here()).get(run.id).process
    cancelled = control.cancel(here(), run.id)
    assert cancelled.state == "cancelled"
    assert 5 <= cancelled.step < STEPS
    until(lambda: process is not None and not LAUNCHERS["local"].is_alive(process), "the worker to end")
    saved = load_saved(RunFolder(here(), run.id).checkpoint)["state"]
    assert saved["steps"] == {"training": cancelled.step}
    with pytest.raises(WorkbenchError, match="Only a run that has not ended"):
        control.cancel(here(), run.id)

    runs.resume(here(), run.id)
    done = runs.wait(here(), run.id, PATIENCE)
    assert (done.state, done.step) == ("done", STEPS), RunFolder(here(), run.id).log_tail()
    key = str(saved["randomness"]["key"])
    contents = [path.read_bytes() for path in workbench_home.rglob("*") if path.is_file()]
    assert not any(key.encode() in content or bytes.fromhex(key) in content for content in contents)

    runs.delete(here(), run.id)
    assert not RunFolder(here(), run.id).path.exists()
    assert steps_charged(run.id) == STEPS


def test_a_worker_that_ignores_its_cancellation_is_killed(quick_plan: PlanMaker) -> None:
    run = runs.launch(here(), quick_plan("nonprivate", **{"training.steps": 100_000}), "digits", performance=ON_ONE_THREAD)
    until(lambda: RunStore(here()).get(run.id).state == "running", "the run to start")
    worker = process_of(run.id)
    worker.suspend()  # it can no longer answer a signal
    cancelled = control.cancel(here(), run.id, grace_seconds=0.5)
    assert cancelled.state == "cancelled"
    assert "before it could write a last checkpoint" in str(cancelled.error)
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker to end")


def test_bad_launches_write_nothing(quick_plan: PlanMaker, workbench_home: Path) -> None:
    plan = quick_plan()
    with pytest.raises(WorkbenchError, match="Unknown device"):
        runs.launch(here(), plan, "digits", performance=PerformanceSettings(device="quantum"))
    with pytest.raises(WorkbenchError, match="not for glyphs"):
        runs.launch(here(), plan, "glyphs", performance=ON_ONE_THREAD)
    assert RunStore(here()).list() == []
    assert not (workbench_home / "runs").exists()


def test_a_dataset_is_its_name_even_where_a_folder_is_called_so(
    quick_plan: PlanMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert runs.register(here(), quick_plan(), "digits").dataset == "digits"


def test_a_queued_run_is_cancelled_without_a_process(quick_plan: PlanMaker) -> None:
    run = runs.register(here(), quick_plan(), "digits", performance=ON_ONE_THREAD)
    assert control.request_cancel(here(), run.id).state == "cancelled"
    runs.delete(here(), run.id)


def test_a_launch_that_fails_says_why(quick_plan: PlanMaker) -> None:
    run = runs.register(here(), quick_plan(), "digits", performance=ON_ONE_THREAD)
    RunFolder(here(), run.id).remove()
    assert start(here(), run.id).state == "failed"
    assert "could not be started" in str(RunStore(here()).get(run.id).error)


def test_a_starter_that_is_killed_is_named_and_its_run_starts_again(quick_plan: PlanMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.register(here(), quick_plan(), "digits", performance=ON_ONE_THREAD)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", killed_at_once(here().home))
        failed = start(here(), run.id)
    assert failed.error == "The process could not be started: its starter was killed by SIGKILL before it began; start it again"
    assert (failed.state, failed.process, steps_charged(run.id)) == ("failed", None, 0)
    runs.resume(here(), run.id)
    assert runs.wait(here(), run.id, PATIENCE).state == "done"


def killed_at_once(folder: Path) -> str:
    """An interpreter whose every process is killed before it does anything."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "killed"
    path.write_text("#!/bin/sh\nkill -KILL $$\n")
    path.chmod(0o700)
    return str(path)
