"""Tasks for the workspace itself, which the pages begin unasked: one at a time, behind other work, so that pages keep a processor."""

import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import WORKSPACE, Job
from workbench.jobs.tasks.base import Report, Task, reporting
from workbench.locks import locked
from workbench.workspace import Workspace

POLL_SECONDS = 0.2
PACE = re.compile(r"[0-9a-f]{32}")


class Background(Task):
    """A task without an owner, which waits for its turn."""

    niceness: ClassVar[int] = 10

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """As it is."""
        if owner != WORKSPACE:
            raise WorkbenchError(f"Expected no run or import, got {owner}: the {self.title} belongs to none.")
        return dict(request)

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Wait for the turn, begin, and go on until it is done or a report of progress finds that it is to stop."""
        with in_turn(workspace, stop) as waited:
            self.begin(workspace, job, progress, stop)
            self.carry_out(workspace, job, reporting(progress, stop, self.steps), waited)
        progress.step = self.steps
        return {"state": "done"}

    @abstractmethod
    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """Do it, after `waited` seconds without the turn; `report` takes the share that is done, and raises where it is to stop."""


class Example(Background):
    """Makes the example run and measures it, whatever of that is not there yet, by jobs of their own."""

    title: ClassVar[str] = "example run"

    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """A train job, then an evaluation; cancelled, the one at work is cancelled too."""
        from workbench.jobs import control
        from workbench.jobs.example import ensure_example
        from workbench.jobs.finished import kept_evaluation

        run = ensure_example(workspace, wait_seconds=0)
        _wait(workspace, run.id, lambda share: report(0.3 * share))
        if kept_evaluation(workspace, run.id) is None:
            measuring = control.begin(workspace, "evaluate", run.id, {})
            _wait(workspace, measuring.id, lambda share: report(0.3 + 0.7 * share))


class Rehearse(Background):
    """Measures the pace of a plan's network; the request names the file that it is kept in, beside which the plan lies."""

    title: ClassVar[str] = "measurement of the pace"

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """One name, of 32 hexadecimal digits: it becomes part of a path."""
        if set(request) != {"pace"} or not PACE.fullmatch(str(request["pace"])):
            raise WorkbenchError(f"Expected the name of a pace, 32 hexadecimal digits, got {dict(request)}.")
        return super().check(workspace, owner, request)

    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """No record of any dataset is touched."""
        from workbench.jobs.rehearsal import rehearse

        rehearse(workspace, job.request["pace"], waited)


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


def _wait(workspace: Workspace, job_id: str, report: Report) -> None:
    """Return once the job is done; one that ends otherwise is an error."""
    from workbench.jobs import control

    try:
        job = control.wait(workspace, job_id, progress=lambda now: report(now.share))
    except StoppedError:
        control.request_cancel(workspace, job_id)
        raise
    if job.state != "done":
        raise WorkbenchError(f"{job_id} is {job.state}. {job.error or ''}".rstrip())
