"""Processes on this machine, each in a session of its own: they outlive the app, the terminal and the notebook."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.jobs import identity
from workbench.jobs.identity import ProcessIdentity
from workbench.jobs.launchers.base import Handle, worker_command
from workbench.workspace import Workspace


class Local:
    """Handles are the fields of a `ProcessIdentity`."""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path) -> Handle:
        """Start a worker by way of a process that ends at once, so that it is nobody's child (see `detach`)."""
        quiet = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        ended = subprocess.run(
            [sys.executable, "-m", "workbench.jobs.launchers.detach", str(log), *worker_command(job_id, attempt)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={**os.environ, **workspace.environment, **quiet},
            check=False,
        )
        if ended.returncode:
            raise WorkbenchError((ended.stderr.strip().splitlines() or ["no reason given"])[-1])
        return json.loads(ended.stdout)

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """By pid, if that is still the same process."""
        return identity.send_signal(ProcessIdentity.model_validate(process), number, group)

    def is_alive(self, process: Handle) -> bool | None:
        """None on another boot and in another container, where the pid means nothing."""
        known = ProcessIdentity.model_validate(process)
        return identity.is_alive(known) if identity.is_here(known) else None

    def own(self) -> Handle:
        """Of this process."""
        found = identity.identity_of(os.getpid())
        assert found is not None
        return found.model_dump()
