"""Writing and erasing files so that a crash leaves whole ones and a secret leaves none."""

import os
from pathlib import Path


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
    """Write `text` so that a reader sees the old file or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.partial")
    temporary.write_text(text)
    os.replace(temporary, path)
