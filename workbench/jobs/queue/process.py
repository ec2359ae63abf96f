"""The queue's process: `python -m workbench.jobs.queue.process LOCK`, LOCK an open file that holds the home's lock of the queue.

It passes over the queue while jobs wait, and ends when none does. Killed, it is started again by whoever looks next.
"""

import fcntl
import os
import sqlite3
import sys
import time

from workbench.errors import WorkbenchError
from workbench.files import full_disk
from workbench.jobs.queue.passing import anyone_waits, tend
from workbench.workspace import Workspace

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 60.0  # how long the home may refuse to be read or written, other than for lack of room, before the process gives up


def main(workspace: Workspace, lock: int) -> None:
    """Pass over the queue until nobody waits; the lock is given back before the last look, so that nobody can come in between."""
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    while True:
        attend(workspace)
        fcntl.flock(lock, fcntl.LOCK_UN)
        if not anyone_waits(workspace) or not held_again(lock):
            return


def attend(workspace: Workspace) -> None:
    """Pass over the queue until nobody waits; a home that cannot be used just now is tried again."""
    refused_since = None
    while True:
        try:
            tend(workspace)
            if not anyone_waits(workspace):
                return
            refused_since = None
        except (OSError, sqlite3.Error, WorkbenchError) as error:
            refused_since = refused_since or time.monotonic()
            if not full_disk(error) and time.monotonic() - refused_since > PATIENCE_SECONDS:
                raise
            print(f"The queue could not be passed over: {error}", flush=True)
        time.sleep(POLL_SECONDS)


def held_again(lock: int) -> bool:
    """Whether this process has the lock once more; another may have taken it meanwhile, and passes over the queue then."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    main(Workspace.default(), int(sys.argv[1]))
