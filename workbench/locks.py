"""Lock files between processes: held while a block runs, given back by the system however the process ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import open_private


@contextmanager
def locked(path: Path, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock file at `path`; whoever else wants it waits, or raises WorkbenchError with `refusal` where that is given."""
    with open_private(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if refusal is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkbenchError(refusal or "") from None
        yield
