"""Jobs that were paused because the disk was full: how much room they wait for, and when they go on."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.launchers import has_machines
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


def places(workspace: Workspace, job: Job, is_apart: bool) -> list[Path]:
    """Where the files of a job lie that grow: in the home and, as its folder may be a link, on another disk; of one whose worker is
    elsewhere, in the folder that it shares with the home, alone.
    """
    folder = job.folder(workspace).resolve()
    return [*([] if is_apart else [workspace.home]), *([folder] if folder.exists() else [])] or [workspace.home]


def paused_fields(folders: Sequence[Path], why: str, needed: int) -> dict[str, Any]:
    """The fields to record of a job that lacks room in one of the folders in which it writes, of which it needs `needed` bytes.

    Where all of them seem to have as much, the write that failed wanted more or was elsewhere: the job waits for twice of what is free.
    So it never starts again and again for nothing.
    """
    needed = max(needed, LEAST_BYTES)
    full = next((folder for folder in folders if not has_room(folder, needed)), None)
    if full is None:
        full = folders[-1]
        needed = 2 * shutil.disk_usage(full).free
    room = f"{needed / 2**20:,.0f} MiB"
    error = f"{why} It is paused, and goes on by itself once {room} are free in {full}, or when it is resumed."
    return {"state": "paused", "error": error, "bytes_needed": needed}


def wake(workspace: Workspace) -> None:
    """Have every paused job wait for its turn again whose room there is now; it keeps its place before those that came later."""
    if not workspace.registry.exists():
        return
    jobs = Jobs(workspace)
    for job in jobs.paused_jobs():
        if all(has_room(place, job.bytes_needed) for place in places(workspace, job, has_machines(job.launcher))):
            with suppress(WorkbenchError):  # somebody resumed or cancelled it just now
                jobs.change(job.id, {"paused"}, "woken", **waiting_again(job))
