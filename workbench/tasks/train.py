"""Training: the job that makes a run what its plan says. It has the run's id and lies in the run's folder."""

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress, StopSignal
from workbench.jobs.job import Job, JobState, Terms
from workbench.jobs.room import LEAST_BYTES
from workbench.runs.run import TRAIN, TRAINING
from workbench.tasks.base import Task
from workbench.workspace import Workspace


class Train(Task):
    """Writes checkpoints, and the ledger before every paid step; what was paid is known whatever becomes of the process."""

    name: ClassVar[str] = TRAIN
    terms: ClassVar[Terms] = TRAINING

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refused: the job of a run is registered with it."""
        raise WorkbenchError("Expected a plan to train, got a job. `workbench train` starts a run.")

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """Train from the last checkpoint on."""
        from workbench.runs.fitting import FitAttempt
        from workbench.runs.store import RunStore

        run = RunStore(workspace).get(job.id)
        progress.epsilon_spent = run.epsilon_spent
        return FitAttempt(workspace, run, progress, stop).run()

    def bytes_needed(self, workspace: Workspace, job: Job) -> int:
        """Of another checkpoint, and of the weights that end the run."""
        from workbench.runs.folder import RunFolder

        checkpoint = RunFolder(workspace, job.id).checkpoint
        return LEAST_BYTES + (2 * checkpoint.stat().st_size if checkpoint.exists() else 0)

    def beat(self, workspace: Workspace, job: Job, progress: Progress, **values: Any) -> JobState | None:
        """With what has been spent, once that is known: a beat that comes before says no less than the attempts before."""
        from workbench.runs.store import RunStore

        fields: dict[str, Any] = {"stage": progress.stage, "step": progress.step}
        if progress.epsilon_spent is not None:
            fields["epsilon_spent"] = progress.epsilon_spent
        if progress.charged is not None:
            fields["charged"] = progress.charged
        return RunStore(workspace).beat(job.id, job.attempt, **fields | values)
