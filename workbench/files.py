"""Writing and erasing files so that a crash leaves whole ones and a secret leaves none."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from workbench.errors import DamagedFileError

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def open_private(path: Path, mode: str = "w") -> IO[Any]:
    """Open a file as `open` does; one that is made is readable by its owner alone, whatever the umask."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, PRIVATE_FILE))


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner alone if there is none; what others then write to it, SQLite's logs too, stays as private."""
    open_private(path, "a").close()


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, that its owner alone may enter."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def erase(path: Path) -> None:
    """Overwrite a file with zeros, flush them to the disk, and remove it; nothing happens if there is none.

    Best effort: solid-state disks and copying file systems may keep the old blocks.
    """
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def sync_folder(path: Path) -> None:
    """Flush a folder's names to the disk: what was renamed or made in it survives a loss of power."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text`, for the owner alone, so that a reader sees the old file or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with open_private(temporary) as file:
        file.write(text)
    os.replace(temporary, path)


@contextmanager
def undamaged(path: Path, remedy: str) -> Iterator[None]:
    """Say in one sentence, with `remedy`, that an SQLite file is damaged or none at all; other errors pass."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & 0xFF not in DAMAGED:
            raise
        raise DamagedFileError(f"Expected a whole SQLite file at {path}, got a damaged one ({error}). {remedy}") from error
