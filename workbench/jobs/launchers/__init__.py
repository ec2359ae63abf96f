"""Where the processes of jobs run: this machine today; a queue, a cluster or another machine is a file here and a line below."""

import os

from workbench.errors import choose
from workbench.jobs.launchers.base import Handle, Launcher, worker_command
from workbench.jobs.launchers.local import Local

__all__ = ["LAUNCHERS", "Handle", "Launcher", "chosen_launcher", "worker_command"]

LAUNCHERS: dict[str, Launcher] = {"local": Local()}


def chosen_launcher() -> str:
    """The launcher of jobs that start now: `WORKBENCH_LAUNCHER`, or the local one."""
    name = os.environ.get("WORKBENCH_LAUNCHER", "local")
    choose(name, LAUNCHERS, "launcher")
    return name
