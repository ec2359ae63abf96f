"""What can be asked of a job, whatever its task and wherever it runs: start, cancel, resume, wait."""

import signal
import time
from collections.abc import Callable
from typing import Any

from workbench.errors import WorkbenchError
from workbench.files import tail
from workbench.jobs.job import RESUMABLE, Job
from workbench.jobs.launchers import LAUNCHERS, chosen_launcher
from workbench.jobs.lifecycle import Jobs
from workbench.workspace import Workspace

POLL_SECONDS = 0.2
LOG = "log.txt"


def share(workspace: Workspace, job: Job) -> Job:
    """The job, started unless it is at work: two pages that ask for the same share one. Returns at once."""
    try:
        return start(workspace, job.id)
    except WorkbenchError:
        now = Jobs(workspace).get(job.id)
        if not now.is_active or now.state == "queued":
            raise
        return now


def start(workspace: Workspace, job_id: str) -> Job:
    """Start the process of a queued, cancelled, failed or lost job; of one that is done where its task allows it."""
    jobs, now = Jobs(workspace), time.time()
    job = jobs.get(job_id)
    before = 0.0 if job.state == "done" else job.seconds_running or 0.0
    life: dict[str, Any] = {"attempt": job.attempt + 1, "process": None, "heartbeat": now, "started": now, "finished": None}
    launcher = chosen_launcher()
    job = jobs.change(job_id, job.startable, "started", state="starting", launcher=launcher, seconds_before=before, error=None, **life)
    try:
        log = job.folder(workspace) / LOG
        process = LAUNCHERS[launcher].start(workspace, job_id, job.attempt, log)
    except (OSError, WorkbenchError) as error:
        jobs.beat(job_id, job.attempt, state="failed", error=f"The process could not be started: {error}", finished=time.time())
    else:
        jobs.beat(job_id, job.attempt, process=process)
    return jobs.get(job_id)


def resume(workspace: Workspace, job_id: str) -> Job:
    """Go on with a cancelled, failed or lost job from what it has kept; returns at once."""
    job = Jobs(workspace).get(job_id)
    if job.state not in RESUMABLE:
        raise WorkbenchError(f"{job_id} is {job.state}. Only a cancelled, failed or lost run can be resumed.")
    return start(workspace, job_id)


def request_cancel(workspace: Workspace, job_id: str) -> Job:
    """Ask a job to keep what it can and stop; returns at once. A queued one is cancelled directly."""
    jobs = Jobs(workspace)
    job = jobs.get(job_id)
    if not job.is_active:
        raise WorkbenchError(f"{job_id} is {job.state}. Only a run that has not ended, or such a job, can be cancelled.")
    if job.state == "queued":
        return jobs.change(job_id, {"queued"}, "cancelled", state="cancelled", finished=time.time())
    job = jobs.change(job_id, {"starting", "running", "cancelling"}, "cancelled", state="cancelling")
    if job.process is not None:
        LAUNCHERS[job.launcher].signal(job.process, signal.SIGTERM)
    return job


def cancel(workspace: Workspace, job_id: str, grace_seconds: float | None = None) -> Job:
    """Cancel a job and wait until it has stopped.

    After `grace_seconds`, its task's by default, its process and all that it started are killed.
    """
    job = request_cancel(workspace, job_id)
    job = wait(workspace, job_id, timeout_seconds=job.terms.grace_seconds if grace_seconds is None else grace_seconds)
    if job.is_active and job.process is not None:
        LAUNCHERS[job.launcher].signal(job.process, signal.SIGKILL, group=True)
        job = wait(workspace, job_id, timeout_seconds=10.0)
    return job


def log_tail(workspace: Workspace, job: Job, lines: int = 20) -> str:
    """The last lines that the processes of a job have written; empty if there are none."""
    return tail(job.folder(workspace) / LOG, lines)


def wait(workspace: Workspace, job_id: str, timeout_seconds: float | None = None, progress: Callable[[Job], None] | None = None) -> Job:
    """The job once it has ended, or as it is after `timeout_seconds`; `progress` sees it at every poll."""
    jobs = Jobs(workspace)
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        job = jobs.get(job_id)
        if progress is not None:
            progress(job)
        if not job.is_active or (deadline is not None and time.monotonic() >= deadline):
            return job
        time.sleep(POLL_SECONDS)
