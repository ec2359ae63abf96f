"""What became of jobs at work: what their launchers say of their processes, what their workers wrote, and what follows.

A missed heartbeat is a suspicion. A job has ended where its worker wrote so, where its launcher says that its process is gone, or where
nobody can be asked and nobody holds its lock.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.files import write_text_atomically
from workbench.jobs.away.post import News
from workbench.jobs.away.sending import away_folder, hear
from workbench.jobs.job import AT_WORK, LAUNCH_SECONDS, STALE_SECONDS, Job
from workbench.jobs.launchers import LAUNCHERS, Status, has_machines
from workbench.serialization import dumps
from workbench.workspace import Workspace

EXIT, LOCK = "exit.json", "worker.lock"
MOST_ATTEMPTS = 20  # of a job whose machines end one after the other
Changes = tuple[dict[str, Any], dict[str, Any]]  # of the job's row, and of its run's
OF_JOB = frozenset({"state", "stage", "step", "steps", "resumed_at", "heartbeat", "started", "finished", "error", "bytes_needed"})
OF_RUN = frozenset({"epsilon_spent", "bound", "charged"})


def statuses(jobs: Iterable[Job]) -> dict[str, Status]:
    """Where the processes of jobs at work stand, by the job's id; one question a launcher."""
    by_launcher: dict[str, list[Job]] = {}
    for job in jobs:
        if job.state in AT_WORK and job.process is not None:
            by_launcher.setdefault(job.launcher, []).append(job)
    return {
        job.id: status
        for name, jobs_there in by_launcher.items()
        for job, status in zip(jobs_there, _polled_states(name, jobs_there), strict=True)
    }


def _polled_states(name: str, jobs: Sequence[Job]) -> list[Status]:
    launcher = LAUNCHERS.get(name)
    return [Status("unknown")] * len(jobs) if launcher is None else launcher.poll([job.process or {} for job in jobs])


def changes_of(workspace: Workspace, job: Job, status: Status | None) -> Changes | None:
    """What changes in the rows of a job at work, given the `status` of its process; None where nothing does."""
    if job.state not in AT_WORK:
        return None
    if job.process is None or status is None:
        return (_dead(job), {}) if _silence(job) > LAUNCH_SECONDS else None
    if has_machines(job.launcher):
        return _elsewhere(workspace, job, status)
    is_over = status.state == "ended" or (status.state == "unknown" and _silence(job) > STALE_SECONDS and not _is_held(workspace, job))
    if not is_over:
        return None
    record = read_exit(_folder(workspace, job), job.attempt)
    return (_dead(job), {}) if record is None else _changes_by_table(record)


def to_record(workspace: Workspace, job: Job, status: Status | None) -> Changes:
    """What `changes_of` says, once all else that is to know of it does; to be recorded in the transaction that read the job."""
    of_job, of_run = changes_of(workspace, job, status) or ({}, {})
    if of_job and has_machines(job.launcher):
        of_run = hear(workspace, job, of_job, of_run)
    return of_job, of_run


def keep_exit(folder: Path, attempt: int, values: dict[str, Any]) -> None:
    """Write how an attempt ended, for the case that the registry cannot be told."""
    write_text_atomically(folder / EXIT, dumps({"attempt": attempt, "values": values}))


def forget_exit(folder: Path) -> None:
    """The registry has been told."""
    with suppress(OSError):
        (folder / EXIT).unlink(missing_ok=True)


def read_exit(folder: Path, attempt: int) -> dict[str, Any] | None:
    """How an attempt ended, as its worker wrote; None where it did not."""
    try:
        record = json.loads((folder / EXIT).read_text())
    except (OSError, ValueError):
        return None
    return record["values"] if record["attempt"] == attempt else None


def _elsewhere(workspace: Workspace, job: Job, status: Status) -> Changes | None:
    """Of a job whose worker reports through files: its exit record decides, then what its engine says."""
    news = News.of(away_folder(workspace, job), job.attempt)
    values, run = _changes_by_table(news.job | news.run)
    if news.ended:
        return {"reason": ""} | values, run
    if status.state == "ended":
        was_preempted = values.get("state") == "cancelled"  # it was signalled without a word of its owner's, and kept a checkpoint
        return _without_a_word(job, replace(status, is_due=status.is_due or was_preempted)), run
    now: dict[str, Any] = {"reason": status.reason if status.state == "pending" else ""}
    if status.state == "pending":
        now |= {} if job.state == "cancelling" else {"state": "pending"}
    elif news.began:
        is_over = values.get("state") not in AT_WORK  # of a process that was preempted: another takes its place
        kept = {"state", "finished", "error"} if is_over or job.state == "cancelling" else set[str]()
        now |= {name: value for name, value in values.items() if name not in kept}
    elif job.state == "pending" and status.state == "running":
        now |= {"state": "starting"}
    changed = {name: value for name, value in now.items() if getattr(job, name) != value}
    return (changed, run) if changed else None


def _without_a_word(job: Job, status: Status) -> dict[str, Any]:
    """What becomes of a job whose engine ended it: it waits for another attempt where that was the engine's own doing."""
    if job.state == "cancelling" or status.was_cancelled:
        return _dead(job) | {"state": "cancelled", "reason": ""}
    if status.is_due and job.attempt < MOST_ATTEMPTS:
        return {"state": "queued", "process": None, "heartbeat": None, "reason": status.reason}
    return _dead(job) | {"reason": ""} | ({"error": f"{job.terms.death} {status.reason}".rstrip()})


def _dead(job: Job) -> dict[str, Any]:
    """What becomes of a job whose process is gone: one whose starter died before there was a process waits for another start."""
    if job.state == "starting" and job.process is None:
        return {"state": "queued", "heartbeat": None, "started": None}
    state = "cancelled" if job.state == "cancelling" else "lost"
    return {"state": state, "error": job.terms.death, "finished": job.heartbeat or time.time()}


def _changes_by_table(values: dict[str, Any]) -> Changes:
    of_job = {name: value for name, value in values.items() if name in OF_JOB}
    return of_job, {name: float(value) if name == "epsilon_spent" else value for name, value in values.items() if name in OF_RUN}


def _silence(job: Job) -> float:
    return time.time() - (job.heartbeat or job.started or job.created)


def _folder(workspace: Workspace, job: Job) -> Path:
    return (workspace.runs if job.terms.trains else workspace.jobs) / job.id


def _is_held(workspace: Workspace, job: Job) -> bool:
    """Whether a process, be it in another container, holds the lock that a worker holds as long as it lives."""
    try:
        descriptor = os.open(_folder(workspace, job) / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
