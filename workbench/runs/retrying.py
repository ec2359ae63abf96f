"""Another turn for all that has failed or was lost."""

from dataclasses import dataclass

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job, JobState
from workbench.jobs.lifecycle import Jobs
from workbench.runs.launching import resume
from workbench.workspace import Workspace

UNFINISHED: tuple[JobState, ...] = ("failed", "lost")


@dataclass(frozen=True)
class Retried:
    """The jobs that wait for another turn, and a sentence for each that was refused one."""

    jobs: tuple[Job, ...]
    refused: tuple[str, ...]


def retry_all(workspace: Workspace) -> Retried:
    """Have every failed or lost job, the oldest first, wait for another turn; one that is refused keeps no other from it."""
    jobs, refused = [], []
    for job in reversed(Jobs(workspace).all()):
        if job.state in UNFINISHED:
            try:
                jobs.append(resume(workspace, job.id))
            except WorkbenchError as error:
                refused.append(f"{job.id}: {error}")
    return Retried(tuple(jobs), tuple(refused))
