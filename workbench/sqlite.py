"""SQLite files that many processes share: opened in one way, written in whole transactions, brought up to date in numbered steps."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import check_writable, is_read_only, make_private_file, network_file_system

BUSY_SECONDS = 60.0
RETRY_SECONDS = 0.02
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

Migration = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True)
class Database:
    """A file of a kind (`name`, as errors call it): `migrations[v]` brings one of version v to v + 1, a new file is of version 0.

    Every file takes the same steps, so that an old one has what a new one has. `remedy` says what to do about a damaged one.
    """

    path: Path
    name: str
    migrations: Sequence[Migration]
    remedy: str

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own (any thread, any process) whose rows go by name or position; closed at the end."""
        with self._undamaged(), closing(self._open()) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            yield connection

    def _open(self) -> sqlite3.Connection:
        """A connection; one that writes nothing, not even beside the file, in a home that is read-only."""
        if not is_read_only(self.path.parent):
            return sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        if not self.path.exists():
            return self._empty()
        log = self.path.with_name(f"{self.path.name}-wal")
        alone = "" if log.exists() and log.stat().st_size else "&immutable=1"  # nothing is left in the log, so nothing but the file counts
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro{alone}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)

    def _empty(self) -> sqlite3.Connection:
        """What a file that was never made would hold."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        for migration in self.migrations:
            migration(connection)
        return connection

    @contextmanager
    def transaction(self, mode: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """A connection in one transaction: on the disk at the end, undone on an error. IMMEDIATE is refused in a home that is read-only."""
        if mode == "IMMEDIATE":
            check_writable(self.path.parent)
        with self.connected() as connection:
            connection.execute(f"BEGIN {mode}")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def prepare(self) -> None:
        """Make the file, readable by its owner alone, or bring an older one up to date, all steps or none; a newer one is refused."""
        if not is_read_only(self.path.parent):
            self._refuse_network()
        if self.path.exists() and self._version() == len(self.migrations):
            return
        if not self.path.exists() and is_read_only(self.path.parent):
            return
        check_writable(self.path.parent)
        make_private_file(self.path)
        self._use_write_ahead_log()
        with self.transaction() as connection:
            for version in range(version_of(connection), len(self.migrations)):
                self.migrations[version](connection)
                connection.execute(f"PRAGMA user_version = {version + 1}")

    def _refuse_network(self) -> None:
        """Refuse to make or change a file where several machines may open it: SQLite's log is shared memory of one machine."""
        if kind := _network(self.path.parent):
            raise WorkbenchError(
                f"Expected the {self.name} on a disk of this machine, got {self.path} on a network file system ({kind}): machines that "
                "write it at once would damage it. Set WORKBENCH_HOME to a folder of this machine, and WORKBENCH_SHARED to one that "
                "the machines of an engine share."
            )

    def _version(self) -> int:
        with self.connected() as connection:
            version = version_of(connection)
        if version > len(self.migrations):
            raise WorkbenchError(
                f"Expected {self.name} version {len(self.migrations)} in {self.path}, got {version}. "
                "Another version of the workbench wrote it: open it with that one, or take another home."
            )
        return version

    def _use_write_ahead_log(self) -> None:
        """Switch to write-ahead logging; that needs the file alone, and SQLite does not wait for it by itself."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self.connected() as connection:
                    connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Say in one sentence that the file is damaged or none of SQLite's at all; other errors pass."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is None or code & 0xFF not in DAMAGED:
                raise
            raise DamagedFileError(f"Expected a whole SQLite file at {self.path}, got a damaged one ({error}). {self.remedy}") from error


@cache
def _network(folder: Path) -> str:
    return network_file_system(folder)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a file: how many steps it has taken."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def statements(*texts: str) -> Migration:
    """The step that executes SQL statements one after the other."""

    def migrate(connection: sqlite3.Connection) -> None:
        for text in texts:
            connection.execute(text)

    return migrate
