"""What a task is: the work of a job, and what is particular to it about starting, reporting and dying."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import Job, JobState, Terms
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import submit
from workbench.jobs.room import LEAST_BYTES
from workbench.workspace import Workspace

Report = Callable[[float], None]  # takes the share that is done, and raises where the job is to stop


class Task(ABC):
    """The work of one kind of job, done by a process that may be killed at any moment and is then started again.

    What it makes is in its place whole or not at all, and what it finds made it does not make again: that is how a job resumes.
    """

    name: ClassVar[str]  # in TASKS
    terms: ClassVar[Terms]  # what the engine is told of it

    @abstractmethod
    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request in its one normal form; refuses what cannot be carried out, before a job is registered."""

    def find(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job | None:
        """The job of this request, or None; the request is checked first."""
        return Jobs(workspace).find(self.name, owner, self.check(workspace, owner, request))

    def begin(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job:
        """The job of this request, submitted unless it waits or is at work: two pages that ask for the same share one. Returns at once."""
        return submit(workspace, self.register(workspace, owner, request).id)

    def register(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job:
        """The job of this request, queued if there was none; the request is checked first."""
        return Jobs(workspace).register(self.name, owner, self.check(workspace, owner, request), self.terms)

    @abstractmethod
    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Do it, from wherever it stands; returns the fields to record, `state` among them.

        Looks at `stop` now and then: cancelled, it keeps what it can and ends; taken over, it ends and touches nothing.
        """

    def bytes_needed(self, workspace: Workspace, job: Job) -> int:
        """How much room on the disk lets a job go on that was paused for lack of it."""
        del workspace, job
        return LEAST_BYTES

    def announce(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> None:
        """Show the job as running, from its first step on, unless it was cancelled while it was starting."""
        progress.step = 0
        try:
            Jobs(workspace).change(job.id, {"starting"}, "run", state="running", started=time.time(), resumed_at=0, step=0)
        except WorkbenchError:
            stop.cancelled = True
            raise StoppedError from None

    def beat(self, workspace: Workspace, job: Job, progress: Progress, **values: Any) -> JobState | None:
        """Record progress, and `values`, with a sign of life; None if another process has taken over."""
        return Jobs(workspace).beat(job.id, job.attempt, **{"stage": progress.stage, "step": progress.step} | values)


Q = TypeVar("Q", bound=BaseModel)


class RequestedTask(Task, Generic[Q]):
    """A task that is asked for by a `Request` and tells how much of it is done."""

    Request: type[Q]

    def parse_request(self, request: Mapping[str, Any]) -> Q:
        """The request with its defaults; raises WorkbenchError for one that has not its form."""
        try:
            return self.Request.model_validate(dict(request))
        except ValidationError as error:
            raise WorkbenchError(f"The request for the {self.terms.title} cannot be carried out. {first_complaint(error)}") from None

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Begin, and go on until it is done or a report of progress finds that it is to stop."""
        self.announce(workspace, job, progress, stop)
        self.carry_out(workspace, job.owner, self.parse_request(job.request), share_reporter(progress, stop, job.steps))
        progress.step = job.steps
        return {"state": "done"}

    @abstractmethod
    def carry_out(self, workspace: Workspace, owner: str, request: Q, report: Report) -> None:
        """Do it."""


def share_reporter(progress: Progress, stop: StopSignal, steps: int) -> Report:
    """What takes the share of `steps` that is done, and raises StoppedError where the job is to stop."""

    def report(share: float) -> None:
        progress.step = round(min(1.0, share) * steps)
        if stop:
            raise StoppedError

    return report
