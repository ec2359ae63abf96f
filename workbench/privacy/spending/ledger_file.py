"""The ledger's SQLite file: its tables, in the steps in which they came about."""

import sqlite3
from pathlib import Path

from workbench.sqlite import Database, statements

REMEDY = "Put a copy of it back. Without one, move it away to start an empty ledger, which knows nothing of what was spent before."
TABLES = (
    """CREATE TABLE runs (run_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL,
       purpose TEXT NOT NULL, delta REAL NOT NULL, opened_at TEXT NOT NULL, closed_at TEXT)""",
    "CREATE INDEX runs_of_dataset ON runs (fingerprint)",
    """CREATE TABLE stages (run_id TEXT NOT NULL REFERENCES runs (run_id), position INTEGER NOT NULL, name TEXT NOT NULL,
       spent TEXT NOT NULL, steps INTEGER NOT NULL, event TEXT NOT NULL, relations TEXT NOT NULL, sampling TEXT NOT NULL,
       reason TEXT NOT NULL, charged INTEGER NOT NULL DEFAULT 0, charged_again INTEGER NOT NULL DEFAULT 0,
       PRIMARY KEY (run_id, name))""",
    "CREATE TABLE budgets (fingerprint TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, set_at TEXT NOT NULL)",
)
ACCOUNTS = (
    "CREATE TABLE budgets (account TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, set_at TEXT NOT NULL)",
    "CREATE INDEX runs_of_account ON runs (account)",
    "CREATE TABLE record_hashes (fingerprint TEXT PRIMARY KEY, hashes BLOB NOT NULL)",
)


def ledger_file(path: Path) -> Database:
    """The database of a ledger, made or brought up to date by `prepare`."""
    return Database(path, "ledger", MIGRATIONS, REMEDY)


def add_sampler_distance(connection: sqlite3.Connection) -> None:
    """Version 1 knew no distance of a sampler from its law: 0, as it was counted."""
    connection.execute("ALTER TABLE stages ADD COLUMN sampler_distance REAL NOT NULL DEFAULT 0")


def name_accounts(connection: sqlite3.Connection) -> None:
    """Versions 1 and 2 had an account a fingerprint: give each run's account the name that its dataset has now, and keep the fingerprints.

    Of several budgets that come under one name the strictest holds; one of a dataset without a run stays under its fingerprint.
    """
    connection.execute("ALTER TABLE runs ADD COLUMN account TEXT NOT NULL DEFAULT ''")
    for (dataset,) in connection.execute("SELECT DISTINCT dataset FROM runs").fetchall():
        from workbench.datasets import account_name

        connection.execute("UPDATE runs SET account = ? WHERE dataset = ?", (account_name(dataset), dataset))
    budgets = connection.execute("SELECT fingerprint, epsilon, delta, set_at FROM budgets").fetchall()
    connection.execute("DROP TABLE budgets")
    for statement in ACCOUNTS:
        connection.execute(statement)
    for fingerprint, *budget in budgets:
        names = [name for (name,) in connection.execute("SELECT DISTINCT account FROM runs WHERE fingerprint = ?", (fingerprint,))]
        for name in names or [fingerprint]:
            connection.execute(
                """INSERT INTO budgets VALUES (?, ?, ?, ?) ON CONFLICT (account)
                   DO UPDATE SET epsilon = min(epsilon, excluded.epsilon), delta = min(delta, excluded.delta)""",
                (name, *budget),
            )


def name_public_images(connection: sqlite3.Connection) -> None:
    """Versions 1 to 3 did not say which public images a run took: nothing is known of those."""
    connection.execute("ALTER TABLE runs ADD COLUMN public TEXT NOT NULL DEFAULT ''")


MIGRATIONS = (statements(*TABLES), add_sampler_distance, name_accounts, name_public_images)
