"""The registry of runs: one SQLite file, read and written by the app, the command line, notebooks and workers at once."""

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import write_text_atomically
from workbench.jobs.folder import RunFolder
from workbench.jobs.identity import identity_of, is_alive, is_here
from workbench.jobs.run import ACTIVE, ProcessIdentity, Run, RunState, check_run_id
from workbench.serialization import dumps
from workbench.sqlite import Database, statements
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan
    from workbench.training.state import PerformanceSettings

STALE_SECONDS = 12.0  # a heartbeat older than this is stale, where the process cannot be asked
LAUNCH_SECONDS = 60.0  # a launch that has no process after this has failed
ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
JSON_FIELDS = frozenset({"claim", "bound", "config", "plan", "performance", "process"})
REMEDY = "Put a copy of it back, or move it away to start an empty one: the folders of runs and the ledger stay as they are."
RUNS = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, method TEXT NOT NULL, dataset TEXT NOT NULL, fingerprint TEXT NOT NULL, state TEXT NOT NULL,
    stage TEXT NOT NULL, step INTEGER NOT NULL, steps INTEGER NOT NULL, epsilon_spent REAL NOT NULL, delta REAL NOT NULL,
    claim TEXT NOT NULL, bound TEXT NOT NULL, config TEXT NOT NULL, plan TEXT NOT NULL, performance TEXT NOT NULL,
    device TEXT NOT NULL, seed TEXT, releasable INTEGER NOT NULL, claim_only INTEGER NOT NULL, example INTEGER NOT NULL,
    process TEXT, attempt INTEGER NOT NULL, resumed_at INTEGER NOT NULL,
    heartbeat REAL, created REAL NOT NULL, started REAL, finished REAL, error TEXT,
    parent TEXT)
"""
MIGRATIONS = (statements(RUNS), statements("ALTER TABLE runs ADD COLUMN seconds_before REAL NOT NULL DEFAULT 0"))


class RunStore:
    """Creates, lists, reads, changes and deletes runs; every change is one transaction that checks the state it starts from.

    Reading is what finds out that a worker has died: such a run is shown as lost (or cancelled, if it was being cancelled).
    The file is made with the first run.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.path = workspace, workspace.registry
        self._database = Database(self.path, "run registry", MIGRATIONS, REMEDY)
        if self.path.exists():
            self._database.prepare()

    def create(
        self,
        plan: "Plan",
        dataset: str,
        fingerprint: str,
        performance: "PerformanceSettings",
        seed: int | None = None,
        steps: int = 0,
        example: bool = False,
        parent: str | None = None,
    ) -> Run:
        """Register a queued run of `plan` on `dataset` (a name or an absolute path) and make its folder."""
        self._database.prepare()
        values = json.loads(dumps(plan))
        run = Run(
            id="".join(secrets.choice(ID_LETTERS) for _ in range(8)),
            method=plan.method,
            dataset=dataset,
            fingerprint=fingerprint,
            state="queued",
            steps=steps,
            delta=plan.delta,
            claim=plan.claim,
            bound=plan.bound,
            config=values["config"],
            plan=plan,
            performance=json.loads(dumps(performance)),
            device=performance.device,
            seed=seed,
            releasable=seed is None and plan.bound.status == "proved" and plan.bound.is_finite,
            claim_only=plan.claim_only,
            example=example,
            created=time.time(),
            parent=parent,
        )
        folder = RunFolder(self.workspace, run.id)
        folder.create()
        write_text_atomically(folder.plan, dumps(plan, indent=2))
        self._insert(run)
        return run

    def get(self, run_id: str) -> Run:
        """The run called `run_id`; an unknown one is an error."""
        check_run_id(run_id)
        if not self.path.exists():
            raise unknown(run_id)
        with self._database.connected() as connection:
            run = self._read(connection, run_id)
        return self._seen(run)

    def list(self, state: RunState | None = None, method: str | None = None) -> list[Run]:
        """Runs, newest first, of one state or method if asked."""
        if not self.path.exists():
            return []
        with self._database.connected() as connection:
            rows = connection.execute("SELECT * FROM runs ORDER BY created DESC, rowid DESC").fetchall()
        runs = [self._seen(self._run(row)) for row in rows]
        return [run for run in runs if method in (None, run.method) and state in (None, run.state)]

    def change(self, run_id: str, states: AbstractSet[RunState], action: str, **values: Any) -> Run:
        """Set fields of a run whose state is among `states`; else an error says why it cannot be `action` (a past participle)."""
        check_run_id(run_id)
        with self._database.transaction() as connection:
            run = self._read(connection, run_id)
            if run.state not in states:
                expected = ", ".join(sorted(states))
                raise WorkbenchError(f"Run {run_id} cannot be {action}: expected it to be {expected}, it is {run.state}.")
            self._update(connection, run_id, values)
            return self._read(connection, run_id)

    def beat(self, run_id: str, attempt: int, **progress: Any) -> RunState | None:
        """Record a sign of life and progress of the worker of `attempt`; None if another attempt has taken over."""
        with self._database.transaction() as connection:
            row = connection.execute("SELECT state FROM runs WHERE id = ? AND attempt = ?", (run_id, attempt)).fetchone()
            if row is None or row["state"] not in ACTIVE:
                return None
            self._update(connection, run_id, {"heartbeat": time.time(), **progress})
            return row["state"]

    def delete(self, run_id: str) -> None:
        """Remove a run and its folder, noise key first; refused while a process works on it. Ledger entries stay."""
        run = self.get(run_id)
        with self._database.transaction() as connection:
            run = self._read(connection, run_id)
            if run.is_active and run.state != "queued":
                raise WorkbenchError(f"Run {run_id} is {run.state}. Cancel it first, then delete it.")
            RunFolder(self.workspace, run_id).remove()
            connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    def _seen(self, run: Run) -> Run:
        """The run as it is now: one whose worker is gone changes its state here."""
        if run.state not in ("starting", "running", "cancelling") or not _is_lost(run, time.time()):
            return run
        state: RunState = "cancelled" if run.state == "cancelling" else "lost"
        spent = spent_by(self.workspace, run)
        error = "The worker ended before it could write a last checkpoint; `resume` goes on from the one before."
        with self._database.transaction() as connection:
            now = self._read(connection, run.id)
            if (now.state, now.attempt, now.process) == (run.state, run.attempt, run.process):
                ended = {"state": state, "error": error, "finished": now.heartbeat or time.time(), "epsilon_spent": spent}
                self._update(connection, run.id, ended)
            return self._read(connection, run.id)

    def _read(self, connection: sqlite3.Connection, run_id: str) -> Run:
        row = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise unknown(run_id)
        return self._run(row)

    def _run(self, row: sqlite3.Row) -> Run:
        try:
            values = {name: json.loads(row[name]) if name in JSON_FIELDS and row[name] is not None else row[name] for name in row.keys()}  # noqa: SIM118
            return Run.model_validate(values)
        except ValueError as error:
            raise DamagedFileError(f"Expected a whole run in {self.path}, got a damaged row ({type(error).__name__}). {REMEDY}") from error

    def _insert(self, run: Run) -> None:
        columns = _columns({name: getattr(run, name) for name in Run.model_fields})
        marks = ", ".join("?" for _ in columns)
        with self._database.transaction() as connection:
            connection.execute(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))

    def _update(self, connection: sqlite3.Connection, run_id: str, values: dict[str, Any]) -> None:
        columns = _columns(values)
        assignments = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*columns.values(), run_id))


def unknown(run_id: str) -> WorkbenchError:
    """The error of a run that is not in the registry."""
    return WorkbenchError(f"Unknown run {run_id!r}. `workbench runs` lists them.")


def spent_by(workspace: Workspace, run: Run) -> float:
    """What the ledger says a run has spent, for a worker that ended without a word; never less than the worker said."""
    from workbench.privacy.spending.ledger import Ledger

    try:
        return max(run.epsilon_spent, Ledger(workspace.ledger).epsilon_spent(run.id, run.delta).epsilon)
    except DamagedFileError:  # what was spent is not known, so nothing smaller is said
        raise
    except WorkbenchError:  # the worker ended before it opened its account, so it touched nothing
        return run.epsilon_spent


def _is_lost(run: Run, now: float) -> bool:
    """Whether no process works on an active run any more.

    Where the process can be asked, a living one is never lost, however old its heartbeat (a suspended computer); on another
    boot or in another container only the heartbeat speaks.
    """
    silence = now - (run.heartbeat or run.started or run.created)
    if run.process is None:
        return silence > LAUNCH_SECONDS
    if is_here(run.process):
        return not is_alive(run.process)
    return silence > STALE_SECONDS


def _columns(values: dict[str, Any]) -> dict[str, Any]:
    """Fields as SQLite keeps them: nested values as JSON, a seed of any size as text."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if name in JSON_FIELDS:
            columns[name] = None if value is None else dumps(value)
        else:
            columns[name] = str(value) if name == "seed" and value is not None else value
    return columns


def current_process() -> ProcessIdentity:
    """The identity of the process that asks."""
    identity = identity_of(os.getpid())
    assert identity is not None
    return identity
