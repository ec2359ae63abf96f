"""The process that trains one run: `python -m workbench.runs.worker RUN_ID`, started by `local.start`."""

import os
import signal
import sys
import time
import traceback
from types import FrameType
from typing import Any

from workbench.errors import WorkbenchError
from workbench.runs.heartbeat import Heartbeat, Progress, StopSignal
from workbench.runs.local import GRACE_SECONDS
from workbench.runs.store import RunStore, current_process
from workbench.runs.values import Run


def main(run_id: str) -> int:
    """Take on the run, train it to its end, its cancellation or its failure, and record which; returns the exit code."""
    stop = StopSignal()
    _listen(stop)
    run = claim(run_id)
    print(f"Run {run_id}, attempt {run.attempt}, process {os.getpid()}.", flush=True)
    progress = Progress(run.stage, run.step, run.epsilon_spent)
    with Heartbeat(run_id, run.attempt, progress, stop, GRACE_SECONDS):
        outcome = attempt(run, progress, stop)
    if not stop.taken_over:
        RunStore().beat(run_id, run.attempt, **outcome, finished=time.time(), stage=progress.stage, step=progress.step)
    print(f"Run {run_id}: {outcome['state']}.", flush=True)
    return int(outcome["state"] == "failed")


def claim(run_id: str) -> Run:
    """The run, now this process's; an error if another process works on it or it is over."""
    store, process = RunStore(), current_process()
    run = store.get(run_id)
    if run.process is not None and run.process != process:
        raise WorkbenchError(f"Run {run_id} belongs to process {run.process.pid}.")
    return store.change(run_id, {"starting", "cancelling"}, "taken on", process=process, heartbeat=time.time())


def attempt(run: Run, progress: Progress, stop: StopSignal) -> dict[str, Any]:
    """Train; returns the fields to record: the state done, cancelled or failed, with what was spent and the error."""
    from workbench.runs.fitting import Fitting

    try:
        return Fitting(run, progress, stop).run()
    except Exception as error:
        traceback.print_exc()
        sentence = str(error) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
        return {"state": "failed", "error": sentence}


def _listen(stop: StopSignal) -> None:
    def cancel(_number: int, _frame: FrameType | None) -> None:
        stop.cancelled = True

    signal.signal(signal.SIGTERM, cancel)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except WorkbenchError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
