"""Training: the job that makes a run what its plan says. It has the run's id and lies in the run's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.folder import RunFolder
from workbench.jobs.heartbeat import Progress, StopSignal
from workbench.jobs.job import Job, JobState
from workbench.jobs.tasks.base import Task
from workbench.workspace import Workspace


class Train(Task):
    """Writes checkpoints, and the ledger before every paid step; what was paid is known whatever becomes of the process."""

    title: ClassVar[str] = "training"
    grace_seconds: ClassVar[float] = 120.0  # for the step at work to end and a checkpoint to be written
    repeatable: ClassVar[bool] = False
    death: ClassVar[str] = "The worker ended before it could write a last checkpoint; `resume` goes on from the one before."

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refused: the job of a run is registered with it."""
        raise WorkbenchError("Expected a plan to train, got a job. `workbench train` starts a run.")

    def check_again(self, workspace: Workspace, job: Job) -> None:
        """A plan whose numbers are no longer those of its configuration is not carried out."""
        from workbench.jobs.store import RunStore

        RunStore(workspace).get(job.id).plan.check()

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Train from the last checkpoint on."""
        from workbench.jobs.fitting import Fitting
        from workbench.jobs.store import RunStore

        run = RunStore(workspace).get(job.id)
        progress.epsilon_spent = run.epsilon_spent
        return Fitting(workspace, run, progress, stop).run()

    def beat(self, workspace: Workspace, job: Job, progress: Progress, **values: Any) -> JobState | None:
        """With what has been spent, once that is known: a beat that comes before says no less than the attempts before."""
        from workbench.jobs.store import RunStore

        told: dict[str, Any] = {"stage": progress.stage, "step": progress.step}
        if progress.epsilon_spent is not None:
            told["epsilon_spent"] = progress.epsilon_spent
        return RunStore(workspace).beat(job.id, job.attempt, **told | values)

    def failed(self, workspace: Workspace, job: Job, progress: Progress) -> dict[str, Any]:
        """What has been spent, by the ledger if that is more than what was told."""
        from workbench.jobs.store import RunStore, spent_by

        return {"epsilon_spent": max(progress.epsilon_spent or 0.0, spent_by(workspace, RunStore(workspace).get(job.id)))}

    def died(self, workspace: Workspace, job: Job) -> None:
        """Say of the run what the ledger says that it spent."""
        from workbench.jobs.store import RunStore

        RunStore(workspace).note_spent(job.id)

    def folder(self, workspace: Workspace, job: Job) -> Path:
        """The run's."""
        return RunFolder(workspace, job.id).path
