"""The process of one job: `python -m workbench.tasks.worker JOB ATTEMPT`, started by a launcher."""

import os
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from workbench.errors import WorkbenchError
from workbench.files import full_disk
from workbench.jobs.away.post import PREEMPTED, Post, rows_of
from workbench.jobs.heartbeat import Heartbeat, Progress, StoppedError, StopSignal
from workbench.jobs.job import Job, JobState
from workbench.jobs.launchers.local import Local
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.observing import forget_exit, keep_exit
from workbench.jobs.queue.passing import ensure_process
from workbench.jobs.room import paused_fields, places
from workbench.locks import locked
from workbench.tasks import TASKS
from workbench.tasks.log import forgiving_log
from workbench.workspace import Workspace

ROOM_SECONDS = 2.0  # between two looks whether the registry has room for a word


def main(workspace: Workspace, job_id: str, attempt_number: int | None = None) -> int:
    """Take on the job, do it to its end, its cancellation or its failure, and record which; returns the exit code.

    `attempt_number` is the attempt this process was started for; one that comes too late for it touches nothing.
    """
    stop = StopSignal()
    listen(stop)
    os.nice(Jobs(workspace).get(job_id).terms.niceness)
    with forgiving_log(sys.stdout, sys.stderr):
        return take_on(workspace, job_id, attempt_number, stop)


def take_on(workspace: Workspace, job_id: str, attempt_number: int | None, stop: StopSignal) -> int:
    """What `main` does once it hears signals; two processes never hold one job."""
    job = Jobs(workspace).get(job_id)
    with locked(job.folder(workspace) / "worker.lock", refusal=f"Another process works on {job_id}."):
        code = work(workspace, job_id, attempt_number, stop)
    with suppress(OSError, sqlite3.Error, WorkbenchError):  # whoever looks next sees to it
        if Jobs(workspace).paused_jobs():
            ensure_process(workspace)
    return code


def work(workspace: Workspace, job_id: str, attempt_number: int | None, stop: StopSignal) -> int:
    """What `take_on` does once it holds the job alone."""
    job = claim(workspace, job_id, attempt_number)
    task, progress = TASKS[job.task], Progress(job.stage, job.step)
    stop.cancelled = stop.cancelled or job.state == "cancelling"
    print(f"Job {job_id} ({job.terms.title}), attempt {job.attempt}, process {os.getpid()}.", flush=True)
    post = Post.of_home(workspace)
    with Heartbeat(lambda: exchange_heartbeat(workspace, post, job_id, task.beat(workspace, job, progress)), stop, job.terms.grace_seconds):
        outcome = attempt(workspace, job, progress, stop)
    try:
        if not stop.taken_over:
            record(workspace, job, progress, outcome, stop)
            if post is not None:
                return report_end(workspace, post, job_id, outcome["state"], stop)
    except sqlite3.Error as error:  # whoever looks finds it dead, and this in its log
        print(f"The registry could not be told how it ended: {error}.", flush=True)
        return 1
    finally:
        print(f"Job {job_id}: {outcome['state']}. {outcome.get('error', '')}".rstrip(), flush=True)
    return int(outcome["state"] == "failed")


def record(workspace: Workspace, job: Job, progress: Progress, outcome: dict[str, Any], stop: StopSignal) -> None:
    """Tell the registry how an attempt ended."""
    folder, is_here = job.folder(workspace), Post.of_home(workspace) is None
    with suppress(OSError):  # the registry may yet hear of it
        if is_here:
            far: dict[str, Any] = {"stage": progress.stage, "step": progress.step, "finished": time.time()}
            keep_exit(folder, job.attempt, far | outcome)
    told_once_there_is_room(lambda: TASKS[job.task].beat(workspace, job, progress, **outcome, finished=time.time()), outcome["state"], stop)
    forget_exit(folder)


def told_once_there_is_room(tell: Callable[[], object], state: JobState, stop: StopSignal) -> None:
    """Have the end of an attempt told; that one lacked room waits until there is some for its word too, or until it is to stop."""
    while True:
        try:
            tell()
            return
        except (OSError, sqlite3.Error) as error:
            if state != "paused" or stop or not full_disk(error):
                raise
            time.sleep(ROOM_SECONDS)


def exchange_heartbeat(workspace: Workspace, post: Post | None, job_id: str, state: JobState | None) -> JobState | None:
    """What a heartbeat tells and hears: a worker elsewhere tells its post, and hears there of a cancellation and of who took over."""
    if post is None or state is None:
        return state
    if post.is_taken_over():
        return None
    post.report(*rows_of(workspace, job_id))
    return "cancelling" if post.is_cancelled() else state


def report_end(workspace: Workspace, post: Post, job_id: str, state: JobState, stop: StopSignal) -> int:
    """Tell a post how the attempt ended; returns the exit code. One that was signalled without a word of its owner's has not ended."""
    if post.is_taken_over():
        return PREEMPTED
    is_preempted = state == "cancelled" and not post.is_cancelled()
    rows = rows_of(workspace, job_id)
    told_once_there_is_room(lambda: post.report(*rows, ended=not is_preempted, durable=True), state, stop)
    return PREEMPTED if is_preempted else int(state == "failed")


def claim(workspace: Workspace, job_id: str, attempt_number: int | None = None) -> Job:
    """The job, now this process's; an error if another process works on it, it is over, or this is not its attempt."""
    jobs = Jobs(workspace)
    job = jobs.get(job_id)
    process = Local().own()
    if attempt_number not in (None, job.attempt):
        raise WorkbenchError(f"{job_id} is at attempt {job.attempt}, and this process was started for attempt {attempt_number}.")
    if job.process is not None and job.process != process:
        raise WorkbenchError(f"{job_id} belongs to another process: {job.process}.")
    return jobs.change(job_id, {"starting", "cancelling"}, "taken on", process=process, heartbeat=time.time())


def attempt(workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
    """Do it; returns the fields to record: the state done, cancelled, lost or failed, with the error."""
    try:
        return TASKS[job.task].work(workspace, job, progress, stop)
    except StoppedError:
        return {"state": "lost" if stop.taken_over else "cancelled"}
    except Exception as error:
        traceback.print_exc()
        if words := full_disk(error):
            why = str(error) if isinstance(error, WorkbenchError) else words
            if stop:
                return {"state": "cancelled"}
            folders = places(workspace, job, is_apart=Post.of_home(workspace) is not None)
            return paused_fields(folders, why, TASKS[job.task].bytes_needed(workspace, job))
        return {"state": "failed", "error": _sentence(error)}


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"


def listen(stop: StopSignal) -> None:
    """Have a signal to end cancel the work, and none of a terminal's."""

    def cancel(_number: int, _frame: FrameType | None) -> None:
        stop.cancelled = True

    signal.signal(signal.SIGTERM, cancel)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)


if __name__ == "__main__":
    try:
        sys.exit(main(Workspace.default(), sys.argv[1], int(sys.argv[2])))
    except WorkbenchError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
