"""Processes on this machine, each in a session of its own: they outlive the app, the terminal and the notebook."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from workbench.jobs import identity
from workbench.jobs.identity import ProcessIdentity
from workbench.jobs.launchers.base import Handle, Resources, Status, worker_command
from workbench.jobs.launchers.detach import start_apart
from workbench.workspace import Workspace

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Local:
    """Handles are the fields of a `ProcessIdentity`."""

    is_apart = False

    def missing(self) -> str:
        """Nothing."""
        return ""

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """Start a worker by way of a process that ends at once, so that it is nobody's child (see `detach`); it takes what it needs."""
        del needs
        quiet = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        environment = {**os.environ, **workspace.environment, **quiet, **visible(device)}
        return start_apart(log, worker_command(job_id, attempt), environment)

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """By pid, if that is still the same process."""
        return identity.send_signal(ProcessIdentity.model_validate(process), number, group)

    def poll(self, processes: Sequence[Handle]) -> list[Status]:
        """Unknown on another boot and in another container, where the pid means nothing."""
        return [Status.alive(self.is_alive(process)) for process in processes]

    def is_alive(self, process: Handle) -> bool | None:
        """Whether that very process lives; None where that cannot be asked."""
        known = ProcessIdentity.model_validate(process)
        return identity.is_alive(known) if identity.is_here(known) else None

    def own(self) -> Handle:
        """Of the process that asks."""
        process = identity.identity_of(os.getpid())
        assert process is not None
        return process.model_dump()


def visible(device: str) -> dict[str, str]:
    """What lets a process see the GPU `device` alone, counted among those that this one sees; nothing for any other device."""
    kind, _, number = device.partition(":")
    if kind != "cuda" or not number:
        return {}
    mine = [name for name in os.environ.get(VISIBLE, "").split(",") if name]
    return {VISIBLE: mine[int(number)] if int(number) < len(mine) else number}
