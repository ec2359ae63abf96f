"""The measurement of an audited run, and attacks on membership."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import Job
from workbench.jobs.tasks.base import Task
from workbench.workspace import Workspace


class Attack(BaseModel):
    """By which score, and the seed of records, noise and thresholds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str = "loss"
    seed: int = Field(default=0, ge=0)


class Audit(Task):
    """Scores a finished run's canaries and keeps the lower bound that follows. All of it was fixed before training: nothing is asked."""

    title: ClassVar[str] = "audit"

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or has no canaries."""
        from workbench.jobs.audits import design_of
        from workbench.jobs.trained import trained_run

        design_of(trained_run(workspace, owner))
        if request:
            raise WorkbenchError(f"Expected nothing asked of an audit, which was fixed before training, got {dict(request)}.")
        return {}

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Begin, and go on until it is done or a report of progress finds that it is to stop."""
        from workbench.jobs.audits import audit_run

        self.begin(workspace, job, progress, stop)
        audit_run(workspace, job.owner, _reporting(progress, stop, self.steps))
        progress.step = self.steps
        return {"state": "done"}


class Membership(Task):
    """Tells a finished run's training records from held-out ones by its model."""

    title: ClassVar[str] = "attack on membership"

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or tells nothing of its model, and an unknown score."""
        from workbench.jobs.memberships import check_attack

        try:
            asked = Attack.model_validate(dict(request))
        except ValidationError as error:
            raise WorkbenchError(f"{first_complaint(error)} in a request for a job.") from None
        check_attack(workspace, owner, asked.score)
        return asked.model_dump(mode="json")

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Begin, and go on until it is done or a report of progress finds that it is to stop."""
        from workbench.jobs.memberships import membership_run

        self.begin(workspace, job, progress, stop)
        asked = Attack.model_validate(job.request)
        membership_run(workspace, job.owner, asked.score, asked.seed, _reporting(progress, stop, self.steps))
        progress.step = self.steps
        return {"state": "done"}


def _reporting(progress: Progress, stop: StopSignal, steps: int) -> Callable[[float], None]:
    """What takes the share that is done, and raises where the job is to stop."""

    def report(share: float) -> None:
        progress.step = round(min(1.0, share) * steps)
        if stop:
            raise StoppedError

    return report
