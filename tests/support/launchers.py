"""Launchers of jobs for tests: each is one more value of `LAUNCHERS`, put in the place of the local one."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from workbench.files import open_private
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.launchers import Handle, Resources
from workbench.jobs.launchers.base import Status, away_command
from workbench.jobs.launchers.detach import start_apart
from workbench.jobs.launchers.local import Local
from workbench.tasks import away, worker
from workbench.workspace import Workspace


class InTheTest(Local):
    """Launchers whose jobs have the test's process for theirs."""

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """Never, as it would reach the test."""
        del number, group
        return process["pid"] != os.getpid()


class Nowhere(InTheTest):
    """Starts nothing: a job that it launches stands at its start as long as the test goes on."""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """This process stands in for a worker."""
        del workspace, job_id, attempt, log, device, needs
        return self.own()


class Here(InTheTest):
    """Does a job in the test's own process before `start` returns."""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """By the worker's own code, which does not listen to signals here."""
        del device, needs
        with open_private(log, "a") as output, redirect_stdout(output), redirect_stderr(output):
            worker.take_on(workspace, job_id, attempt, StopSignal())
        return self.own()


class Elsewhere(Local):
    """Processes of this machine as another's would be: they are told and tell by files alone."""

    is_apart = True

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """By the command of an engine's job, without the home's name."""
        del job_id, device
        environment = {name: value for name, value in os.environ.items() if name not in workspace.environment}
        return start_apart(log, away_command(log, attempt, needs.gpus if needs else 0), environment | {"PYTHONUNBUFFERED": "1"})


class Line(InTheTest):
    """An engine whose jobs wait until the test does them, one after the other, in its own process."""

    is_apart = True

    def __init__(self) -> None:
        self.waiting: list[Handle] = []
        self.said: dict[str, Status] = {}
        self.asked = 0

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """A place in the line."""
        del workspace, device, needs
        handle: Handle = {"job": f"{job_id}.{attempt}", "folder": str(log.parent / "away"), "attempt": attempt}
        self.waiting.append(handle)
        self.said[handle["job"]] = Status("pending", "Slurm: Priority")
        return handle

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """One that waits is gone."""
        del number, group
        self.said[process["job"]] = Status("ended", was_cancelled=True)
        return True

    def poll(self, processes: Sequence[Handle]) -> list[Status]:
        """What the test has said last."""
        self.asked += 1
        return [self.said[process["job"]] for process in processes]

    def do(self, handle: Handle | None = None) -> int:
        """Do one job, by default the first that waits, by the code of a worker elsewhere."""
        handle = handle or self.waiting.pop(0)
        self.said[handle["job"]] = Status("running")
        try:
            return away.main(Path(handle["folder"]), handle["attempt"])
        finally:
            self.said[handle["job"]] = Status("ended")


class KilledError(BaseException):
    """In the place of SIGKILL."""


def after_step(number: int, what: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the next fit, and no other, do something after so many steps."""
    from workbench import experiment

    whole = experiment.fit

    def fit(*args: Any) -> Iterator[Any]:
        monkeypatch.setattr(experiment, "fit", whole)
        for taken, one in enumerate(whole(*args), 1):
            yield one
            if taken == number:
                what()

    monkeypatch.setattr(experiment, "fit", fit)


def kill() -> None:
    """End like a process that is killed."""
    raise KilledError
