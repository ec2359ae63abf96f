"""Jobs that were paused because the disk was full: how much room they wait for, and when they go on."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.starting import waiting_again
from workbench.workspace import Workspace

LEAST_BYTES = 32 * 2**20  # below which a home has no room for anything


def has_room(folder: Path, needed: int) -> bool:
    """Whether files of `needed` bytes in all can be written in a folder: the disk says so, and a file of that size can be had (quotas)."""
    try:
        if shutil.disk_usage(folder).free < needed:
            return False
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, needed)
    except OSError:
        return False
    return True


def paused_fields(workspace: Workspace, why: str, needed: int) -> dict[str, Any]:
    """The fields to record of a job that lacks room, of which it needs `needed` bytes.

    Where the home seems to have as much, the write that failed wanted more or was elsewhere: the job waits for twice of what is free.
    So it never starts again and again for nothing.
    """
    needed = max(needed, LEAST_BYTES)
    if has_room(workspace.home, needed):
        needed = 2 * shutil.disk_usage(workspace.home).free
    room = f"{needed / 2**20:,.0f} MiB"
    error = f"{why} It is paused, and goes on by itself once {room} are free in {workspace.home}, or when it is resumed."
    return {"state": "paused", "error": error, "bytes_needed": needed}


def wake(workspace: Workspace) -> None:
    """Have every paused job wait for its turn again whose room there is now; it keeps its place before those that came later."""
    if not workspace.registry.exists():
        return
    jobs = Jobs(workspace)
    for job in jobs.paused_jobs():
        if has_room(workspace.home, job.bytes_needed):
            with suppress(WorkbenchError):  # somebody resumed or cancelled it just now
                jobs.change(job.id, {"paused"}, "woken", **waiting_again(job))
