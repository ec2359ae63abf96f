"""The files of one checkpoint: the one that counts, the one before it, and those that are being written or erased.

Each of them holds the noise key: none may leave the room, and all of them go at the end. A new one takes its place only once it has
been read back from the disk and its checksum fits; the one before it stays beside it until the next one is in place.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from workbench.files import erase, open_private, sync_folder
from workbench.training.state import check_seal

CHECKPOINT = "checkpoint.pt"  # in the folder of a run
WRITTEN, PREVIOUS, ERASING = ".written", ".previous", ".erasing"


def beside(path: Path, ending: str) -> Path:
    """The file of the checkpoint at `path` with another ending, such as `PREVIOUS`."""
    return path.with_name(path.name + ending)


def leftovers(path: Path) -> list[Path]:
    """What a crash has left of other files of the checkpoint at `path`: nothing ever reads them again."""
    return [file for ending in (WRITTEN, ERASING) if (file := beside(path, ending)).exists()]


def is_there(path: Path) -> bool:
    """Whether there is something to go on from: the checkpoint at `path`, or the one before it."""
    return path.exists() or beside(path, PREVIOUS).exists()


def replace_checkpoint(path: Path, write: Callable[[IO[bytes]], None], keep_previous: bool = True) -> None:
    """Put what `write` writes, sealed, in the place of the checkpoint at `path`, which stays beside it as the previous one.

    A crash or an error at any point leaves the old one or the new one, whole; after one between two renames it is the previous one. Without
    `keep_previous` no other checkpoint is left on return. Raises OSError where the disk fails, DamagedFileError where it does not
    give back what was written.
    """
    written, previous, erasing = (beside(path, ending) for ending in (WRITTEN, PREVIOUS, ERASING))
    for left in leftovers(path):
        erase(left)
    _write(written, write)
    if path.exists():
        if previous.exists():
            os.replace(previous, erasing)
        os.replace(path, previous)
    os.replace(written, path)
    sync_folder(path.parent)
    for old in (erasing, *(() if keep_previous else (previous,))):
        erase(old)


def restore_previous(path: Path) -> None:
    """Put the previous checkpoint in the place of the one at `path`, which is damaged or not there, and erase that."""
    erasing = beside(path, ERASING)
    erase(erasing)
    if path.exists():
        os.replace(path, erasing)
    os.replace(beside(path, PREVIOUS), path)
    sync_folder(path.parent)
    erase(erasing)


def erase_all(path: Path) -> None:
    """Overwrite and remove every file of the checkpoint at `path`, and with them the noise key.

    The previous one goes first, and the one that counts loses its name at once: a crash before that leaves one that can be resumed,
    a crash after it none at all, and never one that is half overwritten. Calling this again completes what a crash cut short.
    """
    for ending in (WRITTEN, PREVIOUS, ERASING):
        erase(beside(path, ending))
    if path.exists():
        os.replace(path, beside(path, ERASING))
        sync_folder(path.parent)
        erase(beside(path, ERASING))


def _write(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file, and read it back from the disk: its seal has to fit. Nothing is left of one that fails."""
    try:
        with open_private(path, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # what is read next comes from the disk, where it can
        check_seal(path, required=True)
    except BaseException:
        try:
            erase(path)
        finally:
            path.unlink(missing_ok=True)
        raise
