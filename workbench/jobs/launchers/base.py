"""What a launcher is: it starts the process of a job, signals it, and says where it stands. Of jobs it knows nothing else."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.workspace import Workspace

Handle = dict[str, Any]  # a process as its launcher tells it from every other, as plain JSON values; kept in the registry
DEFAULT, AWAY = "local", "away"  # the second is the folder, in a job's, of what its worker elsewhere is told and tells


class Resources(BaseModel):
    """What a job asks of an engine for; 0 leaves it to the engine's own defaults. `memory` is in MiB."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gpus: int = Field(default=0, ge=0)
    cpus: int = Field(default=0, ge=0)
    memory: int = Field(default=0, ge=0)
    minutes: int = Field(default=0, ge=0)


@dataclass(frozen=True)
class Status:
    """What a launcher knows of a process: it waits in the engine's line for a `reason`, runs, has ended, or cannot be asked about.

    `is_due`: it ended through no fault of its own, as its machine or its time came to an end: another attempt goes on.
    `was_cancelled`: somebody told the engine to end it.
    """

    state: Literal["pending", "running", "ended", "unknown"]
    reason: str = ""
    is_due: bool = False
    was_cancelled: bool = False

    @classmethod
    def alive(cls, answer: bool | None) -> Self:
        """The status of a process that lives, does not, or cannot be asked."""
        return cls("unknown" if answer is None else "running" if answer else "ended")


class Launcher(Protocol):
    """One way to have processes. A job may be started here, and asked after or signalled by another process, later, perhaps after
    this one is gone: what a launcher has to know of a process is in its handle.

    `is_apart`: its processes run where the home's registry cannot be written. They wait in a line of its own instead of the home's
    queue, execute `away_command` and report through files in the job's folder. Those of the others execute `worker_command`, with the
    workspace's `environment`.
    """

    is_apart: bool

    def missing(self) -> str:
        """Why nothing can be started from here, with what to do about it; empty where it can."""
        ...

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """Start the process of an attempt, apart from this one, with its output appended to `log`; returns at once.

        It sees no GPU but that of `device`, where this is one of several (cuda:1) and its settings name none. One asked for twice, as
        whoever asked first died before the handle was kept, may run twice: the attempt's files decide who writes.

        Raises WorkbenchError or OSError where there is none.
        """
        ...

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """Signal the process, or all that it has started too; False if it no longer lives or cannot be reached from here."""
        ...

    def poll(self, processes: Sequence[Handle]) -> list[Status]:
        """Where each process stands, in order: one question to the engine, however many there are."""
        ...


class Engine:
    """What launchers apart share: one question for all jobs, whose answer holds for a second. Handles name the engine's `job`."""

    KEPT_SECONDS = 1.0

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Status]] = {}

    def states(self, jobs: Sequence[str]) -> dict[str, Status] | None:
        """What the engine knows of jobs: those that it has forgotten are not there; None where it does not answer."""
        raise NotImplementedError

    def poll(self, processes: Sequence[Handle]) -> list[Status]:
        """A job that the engine has forgotten has ended."""
        now = time.monotonic()
        names = [str(process.get("job", "")) for process in processes]
        stale = sorted({name for name in names if name not in self._kept or now - self._kept[name][0] > self.KEPT_SECONDS})
        if stale:
            states = self.states(stale)
            self._kept |= {name: (now, Status("unknown") if states is None else states.get(name, Status("ended"))) for name in stale}
        return [self._kept[name][1] for name in names]


def worker_command(job_id: str, attempt: int) -> list[str]:
    """What the process of an attempt executes where the home is."""
    return [sys.executable, "-m", "workbench.tasks.worker", job_id, str(attempt)]


def away_command(log: Path, attempt: int, processes: int = 1) -> list[str]:
    """What the process of an attempt executes elsewhere, `log` being in the job's folder: one, or one a GPU that share each batch."""
    module = ["-m", "workbench.tasks.away", str(log.parent.resolve() / AWAY), str(attempt)]
    interpreter = os.environ.get("WORKBENCH_PYTHON", sys.executable)  # as it is called where the job runs
    if processes <= 1:
        return [interpreter, *module]
    return [interpreter, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), *module]
