"""Jobs that sleep, in processes of their own: registered, claimed, ended and cancelled by the engine's own code."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.job import WORKSPACE, Job, Terms
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.locks import locked
from workbench.workspace import Workspace

PATHS = (Path(__file__).parent / "sleepers", Path(__file__).parents[1], Path(__file__).parents[2])  # for PYTHONPATH
GATE, MOST_SECONDS = "awake", 120.0  # a gated sleeper of a test that failed does not sleep for ever
RUN, MEASURE = Terms(title="sleep", cpu_share=1.0), Terms(title="nap")


def sleep_job(workspace: Workspace, name: str, seconds: float = 0.0, terms: Terms = RUN, **request: Any) -> Job:
    """A queued job that sleeps so long once it starts; `request` may say that its first attempts die (`deaths`), and that it sleeps
    until `wake` (`gated`).
    """
    return Jobs(workspace).register("sleep", WORKSPACE, {"name": name, "seconds": seconds, **request}, terms)


def wake(workspace: Workspace) -> None:
    """Let gated sleepers end."""
    (workspace.home / GATE).touch()


def main(workspace: Workspace, job_id: str, attempt: int) -> None:
    """Take on the job as a worker does, sleep until it is over or cancelled, and say so; its steps are the process's own account."""
    jobs = Jobs(workspace)
    with locked(jobs.get(job_id).folder(workspace) / "worker.lock", refusal=f"Another process works on {job_id}."):
        job = jobs.get(job_id)
        if job.attempt != attempt:
            raise WorkbenchError("too late")
        own = LAUNCHERS["local"].own()
        jobs.change(job_id, {"starting", "cancelling"}, "taken on", process=own, state="running", started=time.time())
        with (workspace.home / "begun.txt").open("a") as file:
            file.write(f"{job.request['name']}\n")
        if attempt <= job.request.get("deaths", 0):
            os.kill(os.getpid(), signal.SIGKILL)
        begun = time.monotonic()
        end, last = begun + job.request["seconds"], begun + MOST_SECONDS * bool(job.request.get("gated"))
        while time.monotonic() < end or (time.monotonic() < last and not (workspace.home / GATE).exists()):
            time.sleep(0.02)
        jobs.beat(job_id, attempt, state="done", step=job.steps, finished=time.time())


if __name__ == "__main__":
    main(Workspace.default(), sys.argv[1], int(sys.argv[2]))
