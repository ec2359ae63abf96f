"""Lock files between processes: held while a block runs, given back by the system however the process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import PRIVATE_FILE, check_writable, open_private


@contextmanager
def locked(path: Path, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock file at `path`; whoever else wants it waits, or raises WorkbenchError with `refusal` where that is given."""
    check_writable(path.parent)
    with open_private(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if refusal is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkbenchError(refusal or "") from None
        yield


def take(path: Path) -> int | None:
    """A descriptor that holds the lock file at `path` until it is closed, here and in every process that inherited it; None where
    another holds it.
    """
    check_writable(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
