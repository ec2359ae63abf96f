"""What can be asked of a job, whatever its task and wherever it runs: resume, cancel, wait."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress

from workbench.errors import WorkbenchError
from workbench.files import tail
from workbench.jobs.away.sending import ask_to_cancel
from workbench.jobs.job import ACTIVE, RESUMABLE, WAITING, Job
from workbench.jobs.launchers import LAUNCHERS, chosen_launcher
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import look_after, submit
from workbench.jobs.registry import update
from workbench.jobs.starting import LOG, start
from workbench.workspace import Workspace

POLL_SECONDS = 0.2


def resume(workspace: Workspace, job_id: str, at_once: bool = False, on: str | None = None) -> Job:
    """Have a paused, cancelled, failed or lost job go on from what it has kept, in its turn or `at_once`; returns at once.

    It goes on where it was, or by the launcher `on`.
    """
    resumable(workspace, job_id)
    if on is not None:
        jobs = Jobs(workspace)
        jobs.change(job_id, RESUMABLE, "resumed", launcher=chosen_launcher(on))
    return start(workspace, job_id) if at_once else submit(workspace, job_id)


def resumable(workspace: Workspace, job_id: str) -> Job:
    """The job, if it can be resumed."""
    job = Jobs(workspace).get(job_id)
    if job.state not in RESUMABLE:
        raise WorkbenchError(f"{job_id} is {job.state}. Only a paused, cancelled, failed or lost run can be resumed.")
    return job


def request_cancel(workspace: Workspace, job_id: str) -> Job:
    """Ask a job to keep what it can and stop; returns at once. One without a process is cancelled directly."""
    jobs = Jobs(workspace)
    jobs.get(job_id)  # who is dead is found
    with jobs.database.transaction() as connection:
        state = jobs.within(connection, job_id).state
        if state not in ACTIVE:
            raise WorkbenchError(f"{job_id} is {state}. Only a run that has not ended, or such a job, can be cancelled.")
        ended = {"state": "cancelled", "finished": time.time()} if state in WAITING else {"state": "cancelling"}
        update(connection, "jobs", job_id, ended)
        job = jobs.within(connection, job_id)
    if job.is_active and job.process is not None:
        launcher = LAUNCHERS[job.launcher]
        if launcher.is_apart:
            ask_to_cancel(workspace, job)
        launcher.signal(job.process, signal.SIGTERM)
    return job


def cancel_all(workspace: Workspace, at_work: bool = True) -> list[Job]:
    """Ask every job that waits to stop, and those `at_work`; those that wait stop first, so that none of them begins. Returns at once."""
    jobs, cancelled = Jobs(workspace), []
    waiting, working = jobs.active()
    for job in [*waiting, *jobs.paused_jobs(), *(working if at_work else [])]:
        with suppress(WorkbenchError):  # it has come to its end by itself
            cancelled.append(request_cancel(workspace, job.id))
    return cancelled


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
        if job.state in WAITING:
            look_after(workspace)
        if progress is not None:
            progress(job)
        if not job.is_active or (deadline is not None and time.monotonic() >= deadline):
            return job
        time.sleep(POLL_SECONDS)
