"""Launchers of jobs for tests: each is one more value of `LAUNCHERS`, put in the place of the local one."""

import os
import signal
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from workbench.files import open_private
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.launchers import Handle
from workbench.jobs.launchers.local import Local
from workbench.tasks import worker
from workbench.workspace import Workspace


class InTheTest(Local):
    """Launchers whose jobs have the test's process for theirs."""

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """Never, as it would reach the test."""
        del number, group
        return process["pid"] != os.getpid()


class Nowhere(InTheTest):
    """Starts nothing: a job that it launches stands at its start as long as the test goes on."""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "") -> Handle:
        """This process stands in for a worker."""
        del workspace, job_id, attempt, log, device
        return self.own()


class Here(InTheTest):
    """Does a job in the test's own process before `start` returns."""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "") -> Handle:
        """By the worker's own code, which does not listen to signals here."""
        del device
        with open_private(log, "a") as output, redirect_stdout(output), redirect_stderr(output):
            worker.take_on(workspace, job_id, attempt, StopSignal())
        return self.own()
