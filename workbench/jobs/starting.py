"""The start of a job's process, by whoever holds its turn: claimed in one transaction, launched after it."""

import sqlite3
import time
from contextlib import suppress
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.away.order import end_order
from workbench.jobs.away.sending import away_folder, send
from workbench.jobs.job import Job
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs, change
from workbench.jobs.registry import update
from workbench.workspace import Workspace

LOG = "log.txt"


def start(workspace: Workspace, job_id: str) -> Job:
    """Start the process of a queued, cancelled, failed or lost job at once, whatever else is at work; of one that is done where its
    task allows it.
    """
    jobs = Jobs(workspace)
    jobs.get(job_id)  # who is dead is found
    with jobs.database.transaction() as connection:
        job = jobs.within(connection, job_id)
        change(connection, job_id, job.startable, "started", {})
        claim(connection, job, job.terms.device)
    return launch(workspace, jobs.get(job_id))


def claim(connection: sqlite3.Connection, job: Job, device: str) -> None:
    """Take on the next attempt at a job that waits, in the transaction that found that it may start."""
    now = time.time()
    life: dict[str, Any] = {"attempt": job.attempt + 1, "process": None, "heartbeat": now, "started": now, "finished": None}
    values: dict[str, Any] = {"placed": device, "error": None, "reason": "", "seconds_before": before(job)}
    update(connection, "jobs", job.id, {"state": "starting", **values, **life})


def waiting_again(job: Job) -> dict[str, Any]:
    """The fields of a job without a process that waits for its turn once more."""
    life: dict[str, Any] = {"state": "queued", "process": None, "heartbeat": None, "started": None, "finished": None}
    return life | {"error": None, "reason": "", "bytes_needed": 0, "seconds_before": before(job)}


def before(job: Job) -> float:
    """The seconds that former attempts at a job count for: none of one that was done and is done again."""
    return 0.0 if job.state == "done" else job.seconds_running or 0.0


def launch(workspace: Workspace, job: Job) -> Job:
    """The process of a claimed job, by the job's launcher; where there is none, the job has failed."""
    jobs = Jobs(workspace)
    chosen = job.placed if job.terms.device == "cuda" else ""  # one that names its GPU counts all
    try:
        launcher = LAUNCHERS[job.launcher]
        if launcher.is_apart or away_folder(workspace, job).exists():
            send(workspace, job, launcher.is_apart)
        process = launcher.start(workspace, job.id, job.attempt, job.folder(workspace) / LOG, chosen, job.terms.asked)
    except (OSError, KeyError, WorkbenchError) as error:
        why = f"no launcher {error}" if isinstance(error, KeyError) else error
        with suppress(OSError):
            end_order(away_folder(workspace, job))
        jobs.beat(job.id, job.attempt, state="failed", error=f"The process could not be started: {why}", finished=time.time())
    else:
        jobs.beat(job.id, job.attempt, process=process)
    return jobs.get(job.id)
