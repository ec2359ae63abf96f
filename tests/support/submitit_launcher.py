"""A launcher by submitit's local executor: what the contract of launchers asks holds for an engine that somebody else has written."""

import os
import shlex
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import submitit
from submitit.helpers import CommandFunction

from workbench.jobs.identity import ProcessIdentity, identity_of, is_alive
from workbench.jobs.launchers import Handle, Resources, Status
from workbench.jobs.launchers.base import away_command
from workbench.workspace import Workspace


class Submitit:
    """Handles are the identity of submitit's own process, of which the worker is a child."""

    is_apart = True

    def missing(self) -> str:
        """Nothing."""
        return ""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """A command in a job of submitit's, whose output goes to the job's log."""
        del workspace, device, needs
        executor = submitit.AutoExecutor(folder=log.parent / "submitit", cluster="local")
        executor.update_parameters(timeout_min=60, name=job_id)
        script = f"exec {shlex.join(away_command(log, attempt))} >> {shlex.quote(str(log))} 2>&1"
        job = executor.submit(CommandFunction(["bash", "-c", script]))
        process = identity_of(int(job.job_id))  # and not psutil's time of its start, which moves where the clock is set
        assert process is not None
        return process.model_dump()

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """To the worker; submitit's own processes end with it."""
        del group
        with suppress(psutil.Error):
            children = psutil.Process(process["pid"]).children(recursive=True)
            for child in children:
                if "workbench.tasks.away" in child.cmdline():
                    os.kill(child.pid, number)
            return bool(children)
        return False

    def poll(self, processes: Sequence[Handle]) -> list[Status]:
        """By the identity of submitit's own process."""
        return [Status.alive(is_alive(ProcessIdentity.model_validate(process))) for process in processes]
