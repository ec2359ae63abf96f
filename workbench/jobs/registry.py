"""The registry: one SQLite file of runs and jobs, read and written by the app, the command line, notebooks and workers at once."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from workbench.serialization import dumps
from workbench.sqlite import Database, statements
from workbench.workspace import Workspace

REMEDY = "Put a copy of it back, or move it away to start an empty one: the folders of runs and the ledger stay as they are."
JSON_FIELDS = frozenset({"claim", "bound", "config", "plan", "performance", "process", "request", "terms", "audit", "charged", "tags"})
JOBS = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, task TEXT NOT NULL, owner TEXT NOT NULL, request TEXT NOT NULL, terms TEXT NOT NULL,
    state TEXT NOT NULL, stage TEXT NOT NULL, step INTEGER NOT NULL, steps INTEGER NOT NULL, launcher TEXT NOT NULL, process TEXT,
    attempt INTEGER NOT NULL, resumed_at INTEGER NOT NULL, heartbeat REAL, created REAL NOT NULL, started REAL, finished REAL,
    seconds_before REAL NOT NULL, error TEXT, priority INTEGER NOT NULL, turn REAL NOT NULL, placed TEXT NOT NULL,
    bytes_needed INTEGER NOT NULL, reason TEXT NOT NULL, UNIQUE (task, owner, request))
"""
RUNS = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY REFERENCES jobs (id), method TEXT NOT NULL, dataset TEXT NOT NULL, fingerprint TEXT NOT NULL,
    epsilon_spent REAL NOT NULL, settled INTEGER NOT NULL, delta REAL NOT NULL, claim TEXT NOT NULL, bound TEXT NOT NULL,
    config TEXT NOT NULL, plan TEXT NOT NULL, performance TEXT NOT NULL, device TEXT NOT NULL, seed TEXT, releasable INTEGER NOT NULL,
    claim_only INTEGER NOT NULL, example INTEGER NOT NULL, parent TEXT, audit TEXT, charged TEXT NOT NULL, name TEXT NOT NULL,
    note TEXT NOT NULL, tags TEXT NOT NULL, ends_early INTEGER NOT NULL)
"""
QUEUE = (  # one row of what was set for all jobs
    "CREATE TABLE queue (id INTEGER PRIMARY KEY CHECK (id = 1), paused INTEGER NOT NULL, cpu_runs INTEGER NOT NULL)",
    "INSERT INTO queue VALUES (1, 0, 1)",
)
LISTS = (  # whatever jobs and runs are filtered by, so that no row is read that is not shown
    "CREATE INDEX jobs_by_state ON jobs (state)",
    "CREATE INDEX jobs_listed ON jobs (id, created, state, step)",
    "CREATE INDEX runs_listed ON runs (id, method, dataset, tags, json_extract(bound, '$.epsilon'))",
)
MIGRATIONS = (statements(JOBS, RUNS, *QUEUE, *LISTS),)  # what a run is stands apart from the life of the job that trains it


def registry(workspace: Workspace) -> Database:
    """The workspace's registry, brought up to date if there is one; `prepare` makes it."""
    database = Database(workspace.registry, "run registry", MIGRATIONS, REMEDY)
    if workspace.registry.exists():
        database.prepare()
    return database


def unusable(workspace: Workspace, error: sqlite3.Error) -> str:
    """What a person is told where SQLite can neither read nor write: reading takes room too, for what readers share."""
    return (
        f"The records of runs in {workspace.home} could not be read or written: {error}. Look whether its disk is full, "
        "or whether it may be written."
    )


def insert(connection: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
    """Add a row."""
    columns = _columns(values)
    marks = ", ".join("?" for _ in columns)
    connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))


def update(connection: sqlite3.Connection, table: str, row: str, values: Mapping[str, Any]) -> None:
    """Set fields of the row whose id is `row`."""
    if columns := _columns(values):
        assignments = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(f"UPDATE {table} SET {assignments} WHERE id = ?", (*columns.values(), row))


def text_of(request: Mapping[str, Any]) -> str:
    """The canonical text of a request; equal requests have equal texts."""
    return json.dumps(dict(request), sort_keys=True)


def fields_of(row: sqlite3.Row) -> dict[str, Any]:
    """A row as the fields that were written; ValueError where it is damaged."""
    return {name: json.loads(row[name]) if name in JSON_FIELDS and row[name] is not None else row[name] for name in row.keys()}  # noqa: SIM118


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as SQLite keeps them: nested values as JSON, a request in its canonical text, a seed of any size as text."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if name == "request":
            columns[name] = text_of(value)
        elif name in JSON_FIELDS:
            columns[name] = None if value is None else dumps(value)
        else:
            columns[name] = str(value) if name == "seed" and value is not None else value
    return columns
