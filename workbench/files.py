"""Writing files so that a crash leaves whole ones, and erasing them."""

import errno
import fcntl
import glob
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from workbench.errors import ReadOnlyHomeError

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
UNFINISHED = f"{'[0-9a-f]' * 16}.partial"  # how the names of files end that are not written whole
TAIL_BYTES = 64 * 1024
READ_ONLY = "read-only"  # the file that marks a home in which nothing is to be written
NETWORK = frozenset((
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "beegfs", "gpfs", "glusterfs"),
    *("pvfs2", "orangefs", "panfs", "sshfs", "s3fs", "gfs2", "ocfs2", "davfs", "rclone"),
))  # fmt: skip
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FULL_DATABASE = (  # the second is what a quota becomes, the last two are of what readers share
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
)


def full_disk(error: BaseException) -> str:
    """What a person is told of an error that comes of a lack of room, be it SQLite's or the cause of another; empty for any other."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, OSError) and chain.errno in FULL:
            return f"A file could not be written: {os.strerror(chain.errno)}."
        if isinstance(chain, sqlite3.OperationalError) and getattr(chain, "sqlite_errorcode", None) in FULL_DATABASE:
            return f"A file could not be written: {chain}."
        chain = chain.__cause__ or chain.__context__
    return ""


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """The kind of network file system that a path lies on, as `mounts` (by default the system's table) says; empty on a disk of this
    machine, and where the system does not say.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text()
        except OSError:
            return ""
    place = path.absolute().resolve()
    rows = [line.split() for line in mounts.splitlines() if line.count(" ") >= 3]
    systems = [(len(where.parts), order, kind) for order, (where, kind) in enumerate(_mount_points(rows)) if place.is_relative_to(where)]
    kind = max(systems)[2] if systems else ""
    return kind if kind in NETWORK or (kind.startswith("fuse.") and kind.removeprefix("fuse.") in NETWORK) else ""


def _mount_points(rows: list[list[str]]) -> Iterator[tuple[Path, str]]:
    for row in rows:
        yield Path(row[1].encode().decode("unicode_escape")), row[2]


def is_read_only(home: Path) -> bool:
    """Whether nothing is to be written in a home: it is marked so, or its rights or its file system say so."""
    return home.exists() and ((home / READ_ONLY).exists() or not os.access(home, os.W_OK))


def check_writable(home: Path) -> None:
    """Refuse to write in a home that is only to be read."""
    if is_read_only(home):
        raise ReadOnlyHomeError(
            f"Expected a home that can be written, got {home}, which is read-only: nothing can be started, changed or deleted in it. "
            "Set WORKBENCH_HOME to another place."
        )


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
    if path.is_dir():  # which nothing of ours made
        for file in [inner for inner in path.rglob("*") if inner.is_file() and not inner.is_symlink()]:
            erase(file)
        shutil.rmtree(path)
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


def remove_unfinished(folder: Path, pattern: str = "*") -> list[Path]:
    """Remove what writers that are gone left of files whose names match `pattern`; writers at work hold a lock on theirs."""
    removed = []
    for path in folder.glob(f".{pattern}.{UNFINISHED}"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            removed.append(path)
    return removed


def unfinished_files(folder: Path) -> list[Path]:
    """What writers that are gone left of files anywhere in a folder."""
    return [path for path in folder.rglob(f".*.{UNFINISHED}") if _is_left(path)]


def _is_left(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _open_unfinished(path: Path, mode: str) -> tuple[Path, IO[Any]]:
    """A new file beside `path` under a name of its own, locked until it is closed."""
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
        file = open_private(temporary, mode)
        fcntl.flock(file, fcntl.LOCK_EX)
        if temporary.exists():  # not taken for unfinished before it was locked
            return temporary, file
        file.close()


@contextmanager
def written_atomically(path: Path, mode: str = "w", durable: bool = False) -> Iterator[IO[Any]]:
    """A new file for the owner alone, `path` once the block ends well: a reader sees the old file or the new one, never a part.

    Several processes may write it at once; the last one's stays. `durable`: it is on the disk, its name too, before this returns.
    What a crash left of it is removed by the next who writes it.
    """
    remove_unfinished(path.parent, glob.escape(path.name))
    temporary, opened = _open_unfinished(path, mode)
    try:
        with opened as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_text_atomically(path: Path, text: str) -> None:
    """Write `text`, for the owner alone, so that a reader sees the old file or the new one."""
    with written_atomically(path) as file:
        file.write(text)


def tail(path: Path, lines: int) -> str:
    """The last lines of a text file; empty if there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
