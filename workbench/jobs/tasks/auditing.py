"""The measurement of an audited run."""

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import Job
from workbench.jobs.tasks.base import Task
from workbench.workspace import Workspace


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

        def report(share: float) -> None:
            progress.step = round(min(1.0, share) * self.steps)
            if stop:
                raise StoppedError

        self.begin(workspace, job, progress, stop)
        audit_run(workspace, job.owner, report)
        progress.step = self.steps
        return {"state": "done"}
