"""Where the processes of jobs run: this machine, or an engine with machines of its own; another is a file here and a line below."""

import os

from workbench.errors import WorkbenchError, choose
from workbench.jobs.launchers.base import DEFAULT, Handle, Launcher, Resources, Status, worker_command
from workbench.jobs.launchers.local import Local
from workbench.jobs.launchers.ray import Ray
from workbench.jobs.launchers.slurm import Slurm

__all__ = ["DEFAULT", "LAUNCHERS", "Handle", "Launcher", "Resources", "Status", "chosen_launcher", "has_machines", "worker_command"]

LAUNCHERS: dict[str, Launcher] = {"local": Local(), "slurm": Slurm(), "ray": Ray()}


def chosen_launcher(name: str | None = None) -> str:
    """The launcher of runs that start now: `name`, or `WORKBENCH_LAUNCHER`, or the local one; refused where it cannot start any."""
    name = name or os.environ.get("WORKBENCH_LAUNCHER", DEFAULT)
    if words := choose(name, LAUNCHERS, "launcher").missing():
        raise WorkbenchError(words)
    return name


def has_machines(name: str) -> bool:
    """Whether the launcher called so is an engine with machines of its own (`Launcher.is_apart`); one that is no longer known is not."""
    launcher = LAUNCHERS.get(name)
    return launcher is not None and launcher.is_apart
