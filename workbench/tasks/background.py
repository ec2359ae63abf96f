"""Tasks for the workspace itself, which the pages begin unasked: one at a time, behind other work, so that pages keep a processor."""

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import WORKSPACE, Job
from workbench.locks import locked
from workbench.tasks.base import Report, Task, share_reporter
from workbench.workspace import Workspace

POLL_SECONDS = 0.2
NICENESS = 10


class Background(Task):
    """A task without an owner, which waits for its turn; its terms have `NICENESS` and no share of the CPU."""

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """As it is."""
        if owner != WORKSPACE:
            raise WorkbenchError(f"Expected no run or import, got {owner}: the {self.terms.title} belongs to none.")
        return dict(request)

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Wait for the turn, begin, and go on until it is done or a report of progress finds that it is to stop."""
        with in_turn(workspace, stop) as waited:
            self.announce(workspace, job, progress, stop)
            self.carry_out(workspace, job, share_reporter(progress, stop, job.steps), waited)
        progress.step = job.steps
        return {"state": "done"}

    @abstractmethod
    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """Do it, after `waited` seconds without the turn; `report` takes the share that is done, and raises where it is to stop."""


@contextmanager
def in_turn(workspace: Workspace, stop: StopSignal) -> Iterator[float]:
    """Hold the workspace's lock of work that nobody asked for, after so many seconds; who is to stop waits no longer."""
    began = time.monotonic()
    with ExitStack() as held:
        while True:
            if stop:
                raise StoppedError
            try:
                held.enter_context(locked(workspace.home / "background.lock", refusal="Other background work is being done."))
                break
            except WorkbenchError:
                time.sleep(POLL_SECONDS)
        yield time.monotonic() - began
