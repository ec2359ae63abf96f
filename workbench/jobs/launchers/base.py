"""What a launcher is: it starts the process of a job, signals it, and says whether it lives. Of jobs it knows nothing else."""

import signal
import sys
from pathlib import Path
from typing import Any, Protocol

from workbench.workspace import Workspace

Handle = dict[str, Any]  # a process as its launcher tells it from every other, as plain JSON values; kept in the registry


class Launcher(Protocol):
    """One way to have processes. The process of a job is `worker_command`, with the workspace's `environment`.

    A job may be started here, and asked after or signalled by another process, later, perhaps after this one is gone: what a
    launcher has to know of a process is in its handle.
    """

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "") -> Handle:
        """Start the process of an attempt, apart from this one, with its output appended to `log`; returns at once.

        It sees no GPU but that of `device`, where this is one of several (cuda:1) and its settings name none.

        Raises WorkbenchError or OSError where there is none.
        """
        ...

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """Signal the process, or all that it has started too; False if it no longer lives or cannot be reached from here."""
        ...

    def is_alive(self, process: Handle) -> bool | None:
        """Whether that very process lives, or waits for its turn; None where that cannot be asked from here."""
        ...

    def own(self) -> Handle:
        """The handle of the process that asks."""
        ...


def worker_command(job_id: str, attempt: int) -> list[str]:
    """What the process of an attempt executes."""
    return [sys.executable, "-m", "workbench.tasks.worker", job_id, str(attempt)]
