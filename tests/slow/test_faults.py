"""Whatever file operation of a run fails: one sentence, nothing under-counted, and the same weights in the end."""

import json
import os
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from runs.test_fitting import counts
from support.faults import Faults
from support.homes import here
from support.quick import QUICK

from workbench import runs
from workbench.cli import main
from workbench.files import open_private
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.launchers import LAUNCHERS, Handle, Resources
from workbench.jobs.launchers.local import Local
from workbench.jobs.queue import passing
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import load_saved
from workbench.workspace import Workspace

DEPENDS = [
    *(
        "workbench/jobs/**",
        "workbench/tasks/**",
        "!workbench/tasks/example.py",
        "workbench/privacy/spending/**",
        "workbench/sqlite.py",
        "workbench/files.py",
    ),
    *("workbench/runs/fitting.py", "workbench/runs/account.py", "workbench/runs/launching.py", "workbench/runs/folder.py"),
    *("workbench/training/checkpoints.py", "workbench/training/checkpoint_files.py", "tests/support/faults.py"),
]
LEAST, MOST_TRIES = 200, 6
SETTINGS = QUICK["dp-promise"] | {
    "pretraining.steps": 2,
    "phase_two.steps": 4,
    "phase_two.noise_multiplicity": 1,
    "phase_two.noise_multiplier": 3.0,
    "boundary": 900,
}


class Forked(Local):
    """A worker is a fork of the test's process, which waits for its end: what it raises ends it, as it would a process of its own."""

    faults: Faults | None = None

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """By the worker's own code; operations are counted on."""
        del device, needs
        output = open_private(log, "a")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, json.dumps(self.own()).encode() + b"\n")
                with redirect_stdout(output), redirect_stderr(output):
                    worker.take_on(workspace, job_id, attempt, StopSignal())
            except BaseException:
                traceback.print_exc(file=output)
            finally:
                output.flush()
                made = (self.faults.made, self.faults.failed) if self.faults else (0, "")
                os.write(writing, json.dumps(made).encode())
                os._exit(0)
        output.close()
        os.close(writing)
        os.waitpid(child, 0)
        with os.fdopen(reading) as pipe:
            handle, made = (json.loads(line) for line in pipe.read().splitlines())
        if self.faults:
            self.faults.made, self.faults.failed = made
        return handle


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> Forked:
    launcher = Forked()
    monkeypatch.setitem(LAUNCHERS, "local", launcher)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr("workbench.runs.fitting.CHECKPOINT_SHARE", 0.0)
    for module in (worker, passing):  # the test looks after the queue itself
        monkeypatch.setattr(module, "ensure_process", lambda _: None)
    torch.set_num_threads(1)
    return launcher


class Clock:
    """The system's clock, until it is set back two hours at a call."""

    def __init__(self, at: int) -> None:
        self.real, self.at, self.calls = time.time, at, 0

    def __call__(self) -> float:
        self.calls += 1
        return self.real() - 7200.0 * (self.calls > self.at)


def command(*words: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def train() -> int:
    given = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    speed = ("--performance", "num_threads=1", "--device", "cpu", "--seed", "5", "--yes")
    return command("train", "dp-promise", "--dataset", "digits", *given, *speed)


def model(run: Run) -> dict[str, torch.Tensor]:
    modules = load_saved(RunFolder(here(), run.id).model)["modules"]
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.items()}


def finished() -> Run:
    """The run, after whatever it takes of a person: launched again where there is none, resumed where it stands."""
    for _ in range(MOST_TRIES):
        made = RunStore(here()).list()
        assert len(made) <= 1, "launched twice"
        if made and made[0].state == "done":
            return made[0]
        if not made:
            train()
        elif made[0].is_active and made[0].state != "paused":
            runs.wait(here(), made[0].id, 5)
        else:
            runs.resume(here(), made[0].id)
    pytest.fail(f"it never ended: {RunStore(here()).list()}")


@pytest.mark.slow(depends=DEPENDS)
def test_any_one_operation_may_fail(
    forked: Forked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], figures: dict[str, Any]
) -> None:
    began = time.monotonic()
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "alone"))
    train()
    alone = finished()
    weights, charged = model(alone), counts(alone.id)
    assert weights
    number, failed = 0, Counter[str]()
    for number in count(1):
        home = tmp_path / f"Läufe von Zoë {number}"
        monkeypatch.setenv("WORKBENCH_HOME", str(home))
        forked.faults = Faults(home, number)
        with monkeypatch.context() as patched:
            forked.faults.happen(patched)
            code = train()
        said, what = capsys.readouterr(), forked.faults.failed
        forked.faults = None
        assert "Traceback" not in said.out + said.err, (number, what)
        if not what:
            break
        failed[what] += 1
        assert code == 0 or said.err.strip(), (number, what)
        assert all("Traceback" not in (run.error or "") for run in RunStore(here()).list()), (number, what)
        run = finished()
        assert counts(run.id) == charged, (number, what)
        assert run.epsilon_spent >= alone.epsilon_spent, (number, what)
        assert all(torch.equal(model(run)[name], value) for name, value in weights.items()), (number, what)
        assert not RunFolder(here(), run.id).can_go_on, (number, what)
    assert number > LEAST
    figures |= {"operations, each of which failed once": number - 1, "seconds": round(time.monotonic() - began)}
    figures |= dict(sorted(failed.items()))


@pytest.mark.slow(depends=DEPENDS)
def test_a_clock_that_is_set_back_at_any_moment_loses_nothing(
    forked: Forked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any]
) -> None:
    del forked
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "alone"))
    train()
    alone = finished()
    weights, charged = model(alone), counts(alone.id)
    number = 0
    for number in count(0, 4):
        monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / str(number)))
        clock = Clock(number)
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", clock)
            assert train() == 0
            run = finished()
        assert (run.state, run.attempt, counts(run.id)) == ("done", 1, charged)
        assert all(torch.equal(model(run)[name], value) for name, value in weights.items())
        if clock.calls <= number:
            break
    figures["moments at which the clock was set back"] = number // 4
