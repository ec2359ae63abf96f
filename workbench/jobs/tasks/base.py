"""What a task is: the work of a job, and what is particular to it about starting, reporting and dying."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.files import make_private_folder
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import Job, JobState
from workbench.workspace import Workspace

Report = Callable[[float], None]  # takes the share that is done, and raises where the job is to stop


class Task(ABC):
    """The work of one kind of job, done by a process that may be killed at any moment and is then started again.

    What it makes is in its place whole or not at all, and what it finds made it does not make again: that is how a job resumes.
    """

    title: ClassVar[str]  # what the job is called, as in "the evaluation was cancelled"
    steps: ClassVar[int] = 100  # of a job that reports shares
    grace_seconds: ClassVar[float] = 10.0  # after so long a cancelled process is killed
    repeatable: ClassVar[bool] = True  # whether one that is done may be done again, should what it made be gone
    niceness: ClassVar[int] = 0  # how far its process stands behind others
    death: ClassVar[str] = "Its process ended without a word; what it had kept is there for another attempt."

    @abstractmethod
    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request in its one normal form; refuses what cannot be carried out, before a job is registered."""

    def check_again(self, workspace: Workspace, job: Job) -> None:  # noqa: B027 - most requests stay what they are
        """Refuse to go on with a job that by now would do something else than what was asked for."""

    @abstractmethod
    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Do it, from wherever it stands; returns the fields to record, `state` among them.

        Looks at `stop` now and then: cancelled, it keeps what it can and ends; taken over, it ends and touches nothing.
        """

    def begin(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> None:
        """Show the job as running, from its first step on, unless it was cancelled while it was starting."""
        from workbench.jobs.lifecycle import Jobs

        progress.step = 0
        try:
            Jobs(workspace).change(job.id, {"starting"}, "run", state="running", started=time.time(), resumed_at=0, step=0)
        except WorkbenchError:
            stop.cancelled = True
            raise StoppedError from None

    def beat(self, workspace: Workspace, job: Job, progress: Progress, **values: Any) -> JobState | None:
        """Record progress, and `values`, with a sign of life; None if another process has taken over."""
        from workbench.jobs.lifecycle import Jobs

        return Jobs(workspace).beat(job.id, job.attempt, **{"stage": progress.stage, "step": progress.step} | values)

    def failed(self, workspace: Workspace, job: Job, progress: Progress) -> dict[str, Any]:
        """Further fields to record of a job whose work has failed."""
        del workspace, job, progress
        return {}

    def died(self, workspace: Workspace, job: Job) -> None:  # noqa: B027 - nothing to do is the rule
        """Set right what a process left that ended without a word, before the job is shown as ended; may be called again."""

    def folder(self, workspace: Workspace, job: Job) -> Path:
        """Where the job's log and lock lie."""
        folder = workspace.jobs / job.id
        make_private_folder(folder)
        return folder


Q = TypeVar("Q", bound=BaseModel)


class Requested(Task, Generic[Q]):
    """A task that is asked for by a `Request` and tells how much of it is done."""

    Request: type[Q]

    def asked(self, request: Mapping[str, Any]) -> Q:
        """The request with its defaults; raises WorkbenchError for one that has not its form."""
        try:
            return self.Request.model_validate(dict(request))
        except ValidationError as error:
            raise WorkbenchError(f"The request for the {self.title} cannot be carried out. {first_complaint(error)}") from None

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Begin, and go on until it is done or a report of progress finds that it is to stop."""
        self.begin(workspace, job, progress, stop)
        self.carry_out(workspace, job.owner, self.asked(job.request), reporting(progress, stop, self.steps))
        progress.step = self.steps
        return {"state": "done"}

    @abstractmethod
    def carry_out(self, workspace: Workspace, owner: str, asked: Q, report: Report) -> None:
        """Do it."""


def reporting(progress: Progress, stop: StopSignal, steps: int) -> Report:
    """What takes the share of `steps` that is done, and raises StoppedError where the job is to stop."""

    def report(share: float) -> None:
        progress.step = round(min(1.0, share) * steps)
        if stop:
            raise StoppedError

    return report
