"""The process that trains one run: `python -m workbench.jobs.worker RUN_ID ATTEMPT`, started by `local.start`."""

import os
import signal
import sys
import time
import traceback
from types import FrameType
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.folder import RunFolder
from workbench.jobs.heartbeat import Heartbeat, Progress, StopSignal
from workbench.jobs.local import GRACE_SECONDS
from workbench.jobs.run import Run
from workbench.jobs.store import RunStore, current_process, spent_by
from workbench.locks import locked
from workbench.workspace import Workspace


def main(workspace: Workspace, run_id: str, attempt_number: int | None = None) -> int:
    """Take on the run, train it to its end, its cancellation or its failure, and record which; returns the exit code.

    `attempt_number` is the attempt this process was started for; one that comes too late for it touches nothing.
    """
    stop = StopSignal()
    _listen(stop)
    with locked(
        RunFolder(workspace, run_id).worker_lock, refusal=f"Another process works on run {run_id}."
    ):  # two never share a checkpoint
        return work(workspace, run_id, attempt_number, stop)


def work(workspace: Workspace, run_id: str, attempt_number: int | None, stop: StopSignal) -> int:
    """What `main` does once it holds the run alone."""
    run = claim(workspace, run_id, attempt_number)
    print(f"Run {run_id}, attempt {run.attempt}, process {os.getpid()}.", flush=True)
    progress = Progress(run.stage, run.step, run.epsilon_spent)
    with Heartbeat(RunStore(workspace), run_id, run.attempt, progress, stop, GRACE_SECONDS):
        outcome = attempt(workspace, run, progress, stop)
    if not stop.taken_over:
        RunStore(workspace).beat(run_id, run.attempt, **outcome, finished=time.time(), stage=progress.stage, step=progress.step)
    print(f"Run {run_id}: {outcome['state']}.", flush=True)
    return int(outcome["state"] == "failed")


def claim(workspace: Workspace, run_id: str, attempt_number: int | None = None) -> Run:
    """The run, now this process's; an error if another process works on it, it is over, or this is not its attempt."""
    store, process = RunStore(workspace), current_process()
    run = store.get(run_id)
    if attempt_number not in (None, run.attempt):
        raise WorkbenchError(f"Run {run_id} is at attempt {run.attempt}, and this process was started for attempt {attempt_number}.")
    if run.process is not None and run.process != process:
        raise WorkbenchError(f"Run {run_id} belongs to process {run.process.pid}.")
    return store.change(run_id, {"starting", "cancelling"}, "taken on", process=process, heartbeat=time.time())


def attempt(workspace: Workspace, run: Run, progress: Progress, stop: StopSignal) -> dict[str, Any]:
    """Train; returns the fields to record: the state done, cancelled or failed, with what was spent and the error."""
    from workbench.jobs.fitting import Fitting

    try:
        return Fitting(workspace, run, progress, stop).run()
    except Exception as error:
        traceback.print_exc()
        sentence = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        return {"state": "failed", "error": sentence, "epsilon_spent": max(progress.epsilon_spent, spent_by(workspace, run))}


def _listen(stop: StopSignal) -> None:
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
