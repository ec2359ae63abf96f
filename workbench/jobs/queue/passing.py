"""One pass over the queue: what fits starts; where jobs are left to wait, a process passes over it from then on."""

import os
import sys
import time
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.launchers import has_machines
from workbench.jobs.launchers.detach import start_apart
from workbench.jobs.lifecycle import Jobs, change
from workbench.jobs.queue import settings
from workbench.jobs.queue.places import assign
from workbench.jobs.room import wake
from workbench.jobs.starting import claim, launch, waiting_again
from workbench.locks import take
from workbench.workspace import Workspace

LOCK, LOG = "queue.lock", "queue.log"


def submit(workspace: Workspace, job_id: str, priority: int | None = None) -> Job:
    """Have a job wait for its turn, behind all of its `priority` (as it was, or 0); it starts at once where it fits. Returns at once.

    One that waits or is at work already stays as it is, so all who ask for the same share one. Raises WorkbenchError for one that is
    done and not to be repeated.
    """
    jobs = Jobs(workspace)
    jobs.get(job_id)  # who is dead is found
    with jobs.database.transaction() as connection:
        job = jobs.within(connection, job_id)
        if job.state == "paused" or not job.is_active:
            turn: dict[str, Any] = {"turn": time.time()}
            turn["priority"] = job.priority if priority is None else priority
            change(connection, job_id, job.startable, "started", waiting_again(job) | turn)
    tend(workspace)
    return jobs.get(job_id)


def tend(workspace: Workspace) -> None:
    """Wake what has room again, start what fits, and a process for what is left; any number of processes may do so at once."""
    wake(workspace)
    while (job := next_job(workspace)) is not None:
        launch(workspace, job)
    if anyone_waits(workspace):
        ensure_process(workspace)


def look_after(workspace: Workspace) -> None:
    """What whoever looks at the queue does for it: nothing while its process lives, which costs one look at a lock."""
    if not workspace.registry.exists() or workspace.is_read_only:
        return
    descriptor = take(workspace.home / LOCK)
    if descriptor is not None:
        os.close(descriptor)
        tend(workspace)


def next_job(workspace: Workspace) -> Job | None:
    """The first waiting job that fits, claimed: nobody else starts it, and it has its place from now on. None where none fits."""
    jobs = Jobs(workspace)
    waiting, _ = jobs.active()
    if not waiting:
        return None
    room = settings.machine(waiting)
    with jobs.database.transaction() as connection:
        room = settings.with_settings(room, settings.stored_settings(connection))
        first = next((turn for turn in assign(*jobs.active_within(connection), room) if turn.fits), None)
        if first is None:
            return None
        claim(connection, first.job, first.device)
        return jobs.within(connection, first.job.id)


def anyone_waits(workspace: Workspace) -> bool:
    """Whether a job waits that the queue may start some time without anybody's word, or an engine has one that may come back."""
    if not workspace.registry.exists():
        return False
    jobs = Jobs(workspace)
    with jobs.database.transaction("DEFERRED") as connection:
        waiting, working = jobs.active_within(connection)
        waits = not settings.stored_settings(connection).paused and bool(waiting)
    return waits or any(has_machines(job.launcher) for job in working) or bool(jobs.paused_jobs())


def ensure_process(workspace: Workspace) -> None:
    """Start the queue's process, unless there is one: it inherits the lock, so there is never a moment for a second one."""
    descriptor = take(workspace.home / LOCK)
    if descriptor is None:
        return
    try:
        command = [sys.executable, "-m", "workbench.jobs.queue.process", str(descriptor)]
        start_apart(workspace.home / LOG, command, {**os.environ, **workspace.environment, "PYTHONUNBUFFERED": "1"}, [descriptor])
    except WorkbenchError as error:
        raise WorkbenchError(f"The queue's process could not be started: {error}. Its log is {workspace.home / LOG}.") from None
    finally:
        os.close(descriptor)
