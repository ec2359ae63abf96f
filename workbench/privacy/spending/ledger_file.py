"""The ledger's SQLite file and its tables."""

from pathlib import Path

from workbench.sqlite import Database, statements

REMEDY = "Put a copy of it back. Without one, move it away to start an empty ledger, which knows nothing of what was spent before."
TABLES = (
    """CREATE TABLE runs (run_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL,
       purpose TEXT NOT NULL, delta REAL NOT NULL, opened_at TEXT NOT NULL, closed_at TEXT, account TEXT NOT NULL,
       public TEXT NOT NULL, ended_early INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX runs_of_dataset ON runs (fingerprint)",
    "CREATE INDEX runs_of_account ON runs (account)",
    """CREATE TABLE stages (run_id TEXT NOT NULL REFERENCES runs (run_id), position INTEGER NOT NULL, name TEXT NOT NULL,
       spent TEXT NOT NULL, steps INTEGER NOT NULL, event TEXT NOT NULL, relations TEXT NOT NULL, sampling TEXT NOT NULL,
       reason TEXT NOT NULL, charged INTEGER NOT NULL DEFAULT 0, charged_again INTEGER NOT NULL DEFAULT 0,
       sampler_distance REAL NOT NULL, PRIMARY KEY (run_id, name))""",
    "CREATE TABLE budgets (account TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, set_at TEXT NOT NULL)",
    "CREATE TABLE record_hashes (fingerprint TEXT PRIMARY KEY, hashes BLOB NOT NULL)",
    # runs with journals: the folder, from the ledger's on, and by stage what is counted while journals cannot be read
    "CREATE TABLE away (run_id TEXT PRIMARY KEY REFERENCES runs (run_id), folder TEXT NOT NULL, unread TEXT NOT NULL DEFAULT '{}')",
)
MIGRATIONS = (statements(*TABLES),)


def ledger_file(path: Path) -> Database:
    """The database of a ledger, made or brought up to date by `prepare`."""
    return Database(path, "ledger", MIGRATIONS, REMEDY)
