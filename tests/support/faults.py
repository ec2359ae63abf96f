"""File operations that fail: the n-th one under a folder raises, be it a call to the system or a statement to SQLite."""

import builtins
import errno
import io
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "link")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES)
WRITES = ("BEGIN IMMEDIATE", "INSERT", "UPDATE", "DELETE", "COMMIT")


class Faults:
    """Counts what is written under `folder`, and lets the `number`-th such operation fail: with each of `ERRORS` in turn."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number, self.made = folder, number, 0
        self.failed = ""

    def happen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on."""
        for name in CALLS:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name), name))
        opened = self.counted(io.open, "write")
        monkeypatch.setattr(io, "open", opened)
        monkeypatch.setattr(builtins, "open", opened)
        connect = sqlite3.connect
        faults = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
                if statement.lstrip().upper().startswith(WRITES):
                    faults.count(f"SQLite: {statement.split()[0]}")
                return super().execute(statement, *arguments)

        monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **({"factory": Connection} | named)))

    def counted(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        """`real`, or the error in its place."""

        def call(*arguments: Any, **named: Any) -> Any:
            if self.is_meant(arguments[0], is_read(name, arguments, named)):
                self.count(name)
            return real(*arguments, **named)

        return call

    def is_meant(self, argument: Any, reads: bool) -> bool:
        """Whether an operation writes, and under the folder."""
        if reads:
            return False
        if isinstance(argument, int):
            try:
                argument = os.readlink(f"/proc/self/fd/{argument}")
            except OSError:
                return False
        return os.path.abspath(os.fsdecode(argument)).startswith(f"{self.folder}{os.sep}")

    def count(self, name: str) -> None:
        """One more; it fails if its turn has come."""
        self.made += 1
        if self.made != self.number:
            return
        number = ERRORS[self.number % len(ERRORS)]
        self.failed = f"{name}, {errno.errorcode[number]}"
        if name.startswith("SQLite"):
            error = sqlite3.OperationalError("database or disk is full" if number == errno.ENOSPC else "disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL if number == errno.ENOSPC else sqlite3.SQLITE_IOERR
            raise error
        raise OSError(number, os.strerror(number))


def is_read(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a call opens a file to read it."""
    if name == "open":
        flags = arguments[1] if len(arguments) > 1 else named.get("flags", 0)
        return not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    mode = arguments[1] if len(arguments) > 1 else named.get("mode", "r")
    return name == "write" and not set(mode) & set("wax+")
