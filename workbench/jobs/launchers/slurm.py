"""Jobs on a Slurm cluster, by its own commands: nothing of them is asked of `sacct`, which many sites lack.

The job's folder lies on a file system that the nodes share (`WORKBENCH_SHARED`). `WORKBENCH_SLURM` holds further options of sbatch, as
"--partition=gpu --account=mine", `WORKBENCH_PYTHON` the interpreter on the nodes where it is called otherwise than here.
"""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.jobs.launchers.base import Engine, Handle, Resources, Status, away_command
from workbench.workspace import Workspace

COMMANDS = ("sbatch", "squeue", "scancel")
ASK_SECONDS = 20.0  # how long an answer may take
WAITS = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING"})
DUE = frozenset({"NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "TIMEOUT", "DEADLINE"})  # the engine's own doing
OVER = DUE | {"COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "REVOKED"}
GONE = "Invalid job id"


class Slurm(Engine):
    """Handles hold the number of the cluster's job; a requeued one keeps it."""

    is_apart = True

    def missing(self) -> str:
        """Its commands have to be there."""
        absent = [name for name in COMMANDS if shutil.which(name) is None]
        words = f"Expected the commands of Slurm, found no {', '.join(absent)}. Start the run from a login node of the cluster."
        return words if absent else ""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """One batch job, requeued by Slurm where its node goes; the batch shell becomes the worker, so that signals reach it."""
        del workspace, device
        needs = needs or Resources()
        command = away_command(log, attempt, needs.gpus)
        script = f"#!/bin/bash\nexec {shlex.join(command)}\n"
        where = ["--job-name", f"workbench-{job_id}", "--output", str(log.resolve()), "--open-mode=append"]
        where += ["--requeue", "--signal=B:TERM@60"]  # a minute before its time is over, for a checkpoint
        own = shlex.split(os.environ.get("WORKBENCH_SLURM", ""))
        return {"job": _command_output("sbatch", "--parsable", *where, *_resources(needs), *own, stdin=script).strip().partition(";")[0]}

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """The batch shell is the worker; one that waits is cancelled, and `group` ends all that the job has."""
        job = str(process["job"])
        try:
            if number == signal.SIGTERM and not group:
                _command_output("scancel", "--state=PENDING", job)
                _command_output("scancel", "--batch", "--signal=TERM", job)
            else:
                _command_output("scancel", "--full", f"--signal={number.name.removeprefix('SIG')}", job)
                _command_output("scancel", job)
        except WorkbenchError:
            return False
        return True

    def states(self, jobs: Sequence[str]) -> dict[str, Status] | None:
        """One squeue for all."""
        try:
            answer = _command_output("squeue", "--noheader", "--states=all", f"--jobs={','.join(jobs)}", "--format=%i|%T|%r")
        except WorkbenchError as error:
            return {} if GONE in str(error) else None
        rows = [line.split("|", 2) for line in answer.splitlines() if line.count("|") >= 2]
        return {job.strip(): _status(state.strip(), reason.strip()) for job, state, reason in rows}


def _status(state: str, reason: str) -> Status:
    if state in WAITS:
        return Status("pending", f"Slurm: {reason}")
    if state in OVER:
        return Status("ended", f"Slurm: {state}", is_due=state in DUE, was_cancelled=state == "CANCELLED")
    return Status("running")


def _resources(needs: Resources) -> list[str]:
    options = {"gpus": needs.gpus, "cpus-per-task": needs.cpus, "mem": needs.memory and f"{needs.memory}M", "time": needs.minutes}
    return [f"--{name}={value}" for name, value in options.items() if value]


def _command_output(command: str, *options: str, stdin: str | None = None) -> str:
    """What a command of Slurm prints; WorkbenchError with what it says where it fails or does not answer."""
    try:
        done = subprocess.run([command, *options], input=stdin, capture_output=True, text=True, timeout=ASK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkbenchError(f"Expected an answer of {command}, got none ({error}).") from error
    if done.returncode:
        raise WorkbenchError(f"{command} refused: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout
