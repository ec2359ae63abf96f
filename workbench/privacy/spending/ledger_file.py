"""The ledger's SQLite file: its tables, how an older file becomes today's, and transactions that are on the disk when they end."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from workbench.errors import WorkbenchError
from workbench.files import make_private_file, undamaged

SCHEMA_VERSION = 3
BUSY_SECONDS = 60.0
REMEDY = "Put a copy of it back. Without one, move it away to start an empty ledger, which knows nothing of what was spent before."
BUDGETS = "CREATE TABLE budgets (account TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, set_at TEXT NOT NULL)"
ACCOUNTS = (
    "CREATE INDEX runs_of_account ON runs (account)",
    "CREATE TABLE record_hashes (fingerprint TEXT PRIMARY KEY, hashes BLOB NOT NULL)",
)
SCHEMA = (
    """CREATE TABLE runs (run_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL,
       purpose TEXT NOT NULL, delta REAL NOT NULL, opened_at TEXT NOT NULL, closed_at TEXT, account TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX runs_of_dataset ON runs (fingerprint)",
    """CREATE TABLE stages (run_id TEXT NOT NULL REFERENCES runs (run_id), position INTEGER NOT NULL, name TEXT NOT NULL,
       spent TEXT NOT NULL, steps INTEGER NOT NULL, event TEXT NOT NULL, relations TEXT NOT NULL, sampling TEXT NOT NULL,
       reason TEXT NOT NULL, charged INTEGER NOT NULL DEFAULT 0, charged_again INTEGER NOT NULL DEFAULT 0,
       sampler_distance REAL NOT NULL DEFAULT 0, PRIMARY KEY (run_id, name))""",
    BUDGETS,
    *ACCOUNTS,
)


@contextmanager
def transaction(path: Path, mode: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """A connection of its own (any thread, any process) in one transaction: on the disk at the end, undone on an error."""
    with undamaged(path, REMEDY), closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"BEGIN {mode}")
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def set_up(path: Path) -> None:
    """Make the tables of a new file, or bring those of an older one up to date; a newer one is refused."""
    make_private_file(path)
    use_write_ahead_log(path)
    with transaction(path) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, *UPGRADES, SCHEMA_VERSION):
            raise WorkbenchError(f"Expected ledger version {SCHEMA_VERSION} in {path}, found {version}. Update the workbench.")
        for statement in SCHEMA if version == 0 else ():
            connection.execute(statement)
        for old in range(version, SCHEMA_VERSION) if version else ():
            UPGRADES[old](connection)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def use_write_ahead_log(path: Path) -> None:
    """Switch to write-ahead logging; that ignores SQLite's own busy timeout, so it is tried again."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with undamaged(path, REMEDY), closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def add_sampler_distance(connection: sqlite3.Connection) -> None:
    """Version 1 knew no distance of a sampler from its law: 0, as it was counted."""
    connection.execute("ALTER TABLE stages ADD COLUMN sampler_distance REAL NOT NULL DEFAULT 0")


def name_accounts(connection: sqlite3.Connection) -> None:
    """Versions 1 and 2 had an account a fingerprint: give each run's account the name that its dataset has now, and keep the fingerprints.

    Of several budgets that come under one name the strictest holds; one of a dataset without a run stays under its fingerprint.
    """
    from workbench.datasets import account_name

    connection.execute("ALTER TABLE runs ADD COLUMN account TEXT NOT NULL DEFAULT ''")
    for (dataset,) in connection.execute("SELECT DISTINCT dataset FROM runs").fetchall():
        connection.execute("UPDATE runs SET account = ? WHERE dataset = ?", (account_name(dataset), dataset))
    budgets = connection.execute("SELECT fingerprint, epsilon, delta, set_at FROM budgets").fetchall()
    connection.execute("DROP TABLE budgets")
    for statement in (BUDGETS, *ACCOUNTS):
        connection.execute(statement)
    for fingerprint, *budget in budgets:
        names = [name for (name,) in connection.execute("SELECT DISTINCT account FROM runs WHERE fingerprint = ?", (fingerprint,))]
        for name in names or [fingerprint]:
            connection.execute(
                """INSERT INTO budgets VALUES (?, ?, ?, ?) ON CONFLICT (account)
                   DO UPDATE SET epsilon = min(epsilon, excluded.epsilon), delta = min(delta, excluded.delta)""",
                (name, *budget),
            )


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {1: add_sampler_distance, 2: name_accounts}  # from each version to the next
