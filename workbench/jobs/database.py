"""How the registry and the verdicts are opened: SQLite with a write-ahead log, shared by many processes."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from workbench.files import make_private_file, undamaged

BUSY_SECONDS = 30.0
REMEDY = "Put a copy of it back, or move it away to start an empty one: the folders of runs and the ledger stay as they are."


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose rows go by name and whose transactions are explicit; closed at the end."""
    with undamaged(path, REMEDY), closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


@contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside BEGIN IMMEDIATE: committed at the end, rolled back on an error."""
    with connected(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of the file; 0 for a new one."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def use_write_ahead_log(path: Path) -> None:
    """Switch a new file to write-ahead logging; that needs the file alone, and SQLite does not wait for it by itself."""
    make_private_file(path)
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with connected(path) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
