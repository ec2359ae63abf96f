"""On the path of a test's processes: a worker counts where it could be killed, and is killed where it has an appointment, once.

The appointment of a job is the file `JOB.json` in the folder `WORKBENCH_TEST_APPOINTMENTS`: `{"after": seconds}` of its process,
`{"checkpoint": n}` before the n-th call to the file system about a checkpoint, or `{"ledger": n, "after": seconds}` so long after the
n-th transaction of the ledger begins to be written. The file takes the ending `.kept` as its job is killed. A worker that ends by
itself leaves in `JOB.counts` how many such calls and transactions there were.
"""

import atexit
import contextlib
import json
import os
import signal
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORKER, FOLDER = "workbench.tasks.worker", "WORKBENCH_TEST_APPOINTMENTS"
CALLS = ("open", "fsync", "replace", "unlink")


class Appointment:
    """Where one worker is to be killed, if anywhere."""

    def __init__(self, folder: Path, job: str) -> None:
        self.file, self.counts = folder / f"{job}.json", folder / f"{job}.counts"
        self.place: dict[str, Any] = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.made: Counter[str] = Counter()

    def keep(self) -> None:
        """Be killed, unless this job was before."""
        with contextlib.suppress(FileNotFoundError):
            self.file.rename(self.file.with_suffix(".kept"))
            os.kill(os.getpid(), signal.SIGKILL)

    def keep_in(self, seconds: float) -> None:
        """Be killed after so long, whatever the process does by then."""
        timer = threading.Timer(seconds, self.keep)
        timer.daemon = True
        timer.start()

    def passes(self, what: str) -> bool:
        """Count one more of `what`; whether it is the one."""
        self.made[what] += 1
        return self.made[what] == self.place.get(what)

    def listen(self) -> None:
        """Hear of every call to the file system about a checkpoint, and of every transaction of the ledger."""
        connect = sqlite3.connect

        def traced(database: Any, *arguments: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(database, *arguments, **named)
            if "ledger" in os.fsdecode(database):
                connection.set_trace_callback(self.hears)
            return connection

        sqlite3.connect = traced
        for name in CALLS:
            setattr(os, name, self.heard(getattr(os, name)))
        atexit.register(lambda: self.counts.write_text(json.dumps(self.made)))
        if self.place.keys() == {"after"}:
            self.keep_in(self.place["after"])

    def hears(self, statement: str) -> None:
        """A statement to the ledger."""
        if statement == "COMMIT" and self.passes("ledger"):
            if self.place["after"]:
                self.keep_in(self.place["after"])
            else:
                self.keep()

    def heard(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """A call to the file system, heard before it is made."""

        def call(*arguments: Any, **named: Any) -> Any:
            if "checkpoint.pt" in name_of(arguments[0]) and self.passes("checkpoint"):
                self.keep()
            return real(*arguments, **named)

        return call


def name_of(argument: Any) -> str:
    """The path that a call to the file system is about."""
    if isinstance(argument, int):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/self/fd/{argument}")
        return ""
    return os.fsdecode(argument)


if __name__ == "sitecustomize" and WORKER in sys.orig_argv[:-1]:
    Appointment(Path(os.environ[FOLDER]), sys.orig_argv[sys.orig_argv.index(WORKER) + 1]).listen()
