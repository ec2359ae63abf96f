"""How much room a home takes, and what of it can go: what is computed again when it is asked for, and what dead processes left.

Runs, samples, verdicts and the ledger are never among it; `workbench delete` and `workbench forget` remove these.
"""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.files import erase, remove_unfinished, unfinished_files
from workbench.jobs.job import ID
from workbench.runs.archiving.unpack import STAGING
from workbench.runs.folder import RunFolder
from workbench.runs.store import RunStore
from workbench.training.checkpoint_files import PREVIOUS, beside, leftovers
from workbench.workspace import Workspace

PACES = "pace"  # of the cache: small, and a measurement of this machine
YOUNG_SECONDS = 3600.0  # what was written since then may still be in use
RECOMPUTED, LEFT, UNKNOWN = "computed again when asked for", "left unfinished by a process that is gone", "of no run in the registry"
KEY = "holds a noise key that no run goes on from"


@dataclass(frozen=True)
class Removable:
    """A file or folder that can go, its size in bytes, and why."""

    path: Path
    size: int
    reason: str


def sizes(workspace: Workspace) -> dict[str, int]:
    """Bytes of each part of a home, by its name there, the largest first."""
    part_sizes = {path.name: size_of(path) for path in workspace.home.iterdir()} if workspace.home.exists() else {}
    return dict(sorted(part_sizes.items(), key=lambda part: -part[1]))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; links count nothing."""
    if path.is_symlink():
        return 0
    try:
        return path.stat().st_size if path.is_file() else sum(size_of(entry) for entry in path.iterdir())
    except FileNotFoundError:  # written anew just now
        return 0


def size_of_run(workspace: Workspace, run_id: str) -> int:
    """Bytes of a run's folder: weights, samples, previews, metrics, checkpoints."""
    folder = RunFolder(workspace, run_id).path
    return size_of(folder) if folder.exists() else 0


def removable(workspace: Workspace, now: float | None = None) -> list[Removable]:
    """What can go, the largest first. What was written within the last hour stays: a process at work may be reading it."""
    before = (time.time() if now is None else now) - YOUNG_SECONDS
    left = [Removable(path, size_of(path), LEFT) for path in unfinished_files(workspace.home)]
    left += [Removable(path, size_of(path), LEFT) for path in workspace.runs.glob(f"{STAGING}*") if path.stat().st_mtime < before]
    removables = [*left, *_keys(workspace), *_recomputable_files(workspace, before), *_unknown(workspace, before)]
    return sorted(removables, key=lambda one: -one.size)


def clean(workspace: Workspace, removables: list[Removable]) -> int:
    """Remove what `removable` found; returns the bytes that were freed. The noise key of a run's folder is overwritten first."""
    for one in removables:
        if one.reason == UNKNOWN:
            RunFolder(workspace, one.path.name).remove()
        elif one.path.is_dir():
            shutil.rmtree(one.path)
        elif one.reason == LEFT:
            remove_unfinished(one.path.parent)
        elif one.reason == KEY:
            erase(one.path)
        else:
            one.path.unlink(missing_ok=True)
    return sum(one.size for one in removables if not one.path.exists())


def _keys(workspace: Workspace) -> Iterator[Removable]:
    """Checkpoints of runs that are done, and what crashes left of others'; a run that is active writes its own."""
    for run in RunStore(workspace).list():
        if run.is_active:
            continue
        checkpoint = RunFolder(workspace, run.id).checkpoint
        kept = [checkpoint, beside(checkpoint, PREVIOUS)] if run.state == "done" else []
        yield from (Removable(path, size_of(path), KEY) for path in [*kept, *leftovers(checkpoint)] if path.exists())


def _recomputable_files(workspace: Workspace, before: float) -> Iterator[Removable]:
    for part in workspace.cache.iterdir() if workspace.cache.exists() else ():
        if part.name == PACES:
            continue
        files = [part] if part.is_file() else [path for path in part.rglob("[!.]*") if path.is_file()]
        yield from (Removable(path, size_of(path), RECOMPUTED) for path in files if _last_used(path) < before)


def _last_used(path: Path) -> float:
    status = path.stat()
    return max(status.st_mtime, status.st_atime)


def _unknown(workspace: Workspace, before: float) -> Iterator[Removable]:
    known = {run.id for run in RunStore(workspace).list()}
    for folder in workspace.runs.iterdir() if workspace.runs.exists() else ():
        if ID.fullmatch(folder.name) and folder.name not in known and folder.stat().st_mtime < before:
            yield Removable(folder, size_of(folder), UNKNOWN)


def rows(workspace: Workspace, removables: list[Removable]) -> list[dict[str, str | int]]:
    """What can go as a table: by folder of the home and reason, how many files and bytes."""
    groups: dict[tuple[str, str], list[int]] = {}
    for one in removables:
        groups.setdefault((str(one.path.parent.relative_to(workspace.home)), one.reason), []).append(one.size)
    return [{"folder": folder, "files": len(of), "bytes": sum(of), "why": reason} for (folder, reason), of in groups.items()]
