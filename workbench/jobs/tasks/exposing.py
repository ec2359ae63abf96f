"""The task about a run's training records: what its samples show of each."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import Job
from workbench.jobs.tasks.base import Task
from workbench.workspace import Workspace


class Draws(BaseModel):
    """By how many chains of the ideal denoiser, and their seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_draws: int = Field(default=400, ge=2, le=100_000)
    seed: int = Field(default=0, ge=0)


class Expose(Task):
    """Estimates what samples show of every training record."""

    title: ClassVar[str] = "view of the records"

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with its number of draws; refuses a run that is not finished or whose method has no values per record."""
        from workbench.jobs.exposure import checked

        try:
            asked = Draws.model_validate(dict(request))
        except ValidationError as error:
            raise WorkbenchError(f"{first_complaint(error)} in a request for a job.") from None
        checked(workspace, owner)
        return asked.model_dump(mode="json")

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Begin, and go on until it is done or a report of progress finds that it is to stop."""
        from workbench.jobs.exposure import expose_run

        def report(share: float) -> None:
            progress.step = round(min(1.0, share) * self.steps)
            if stop:
                raise StoppedError

        self.begin(workspace, job, progress, stop)
        asked = Draws.model_validate(job.request)
        expose_run(workspace, job.owner, asked.num_draws, asked.seed, report)
        progress.step = self.steps
        return {"state": "done"}
