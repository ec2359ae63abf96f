"""The ledger: what every run on a dataset may spend and has spent, on the disk before a record is touched, kept for good."""

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from workbench.errors import WorkbenchError, check_delta
from workbench.files import make_private_file
from workbench.home import home
from workbench.privacy.spending import Budget, LedgerEntry, StageSpending, bound_of, zero_out_total
from workbench.privacy.values import PrivacyValue

if TYPE_CHECKING:
    from dp_accounting import dp_event

    from workbench.privacy.stages import Stage

Purpose = Literal["training", "tuning", "sampling"]
SCHEMA_VERSION = 2
BUSY_SECONDS = 60.0
SCHEMA = (
    """CREATE TABLE runs (run_id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT NOT NULL,
       purpose TEXT NOT NULL, delta REAL NOT NULL, opened_at TEXT NOT NULL, closed_at TEXT)""",
    "CREATE INDEX runs_of_dataset ON runs (fingerprint)",
    """CREATE TABLE stages (run_id TEXT NOT NULL REFERENCES runs (run_id), position INTEGER NOT NULL, name TEXT NOT NULL,
       spent TEXT NOT NULL, steps INTEGER NOT NULL, event TEXT NOT NULL, relations TEXT NOT NULL, sampling TEXT NOT NULL,
       reason TEXT NOT NULL, charged INTEGER NOT NULL DEFAULT 0, charged_again INTEGER NOT NULL DEFAULT 0,
       sampler_distance REAL NOT NULL DEFAULT 0, PRIMARY KEY (run_id, name))""",
    "CREATE TABLE budgets (fingerprint TEXT PRIMARY KEY, epsilon REAL NOT NULL, delta REAL NOT NULL, set_at TEXT NOT NULL)",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
UPGRADES = {  # from each version of before to the next
    1: ("ALTER TABLE stages ADD COLUMN sampler_distance REAL NOT NULL DEFAULT 0", "PRAGMA user_version = 2"),
}
PLANNED = "position, name, spent, steps, event, relations, sampling, reason, sampler_distance"


class Ledger:
    """An SQLite file that only ever grows, safe for concurrent threads and processes.

    Nothing is removed when a run is deleted. A charge is on the disk before `charge` returns, so whatever then happens to
    the process, the count is at least the number of steps that touched the data.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = Path(path) if path is not None else home() / "ledger.sqlite"
        self._set_up()

    def open_run(
        self,
        run_id: str,
        fingerprint: str,
        dataset: str,
        method: str,
        stages: "Sequence[Stage]",
        delta: float,
        purpose: Purpose = "training",
    ) -> None:
        """Record what a run may spend, before anything is touched; opening the same run again (a resume) keeps its counts.

        `purpose` only tells runs apart in lists: every run counts alike. The workbench itself opens "training" and "sampling";
        "tuning" is for scripts that mark the runs by which they choose settings.

        Errors: a known `run_id` with another dataset, method or other stages; two stages of one name; delta outside (0, 1).
        """
        if purpose not in get_args(Purpose):
            raise WorkbenchError(f"Expected a purpose among {', '.join(get_args(Purpose))}, got {purpose!r}.")
        if len({stage.name for stage in stages}) < len(stages):
            raise WorkbenchError(f"Expected different names for the stages of run {run_id}, got {', '.join(s.name for s in stages)}.")
        run = (run_id, fingerprint, dataset, method, purpose, check_delta(delta))
        plan = [(position, *_columns(stage)) for position, stage in enumerate(stages)]
        with self._transaction() as connection:
            known = connection.execute("SELECT run_id, fingerprint, dataset, method, purpose, delta FROM runs WHERE run_id = ?", (run_id,))
            if (row := known.fetchone()) is None:
                connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", (*run, _now()))
                rows = [(run_id, *columns) for columns in plan]
                connection.executemany(f"INSERT INTO stages (run_id, {PLANNED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
                return
            planned = connection.execute(f"SELECT {PLANNED} FROM stages WHERE run_id = ? ORDER BY position", (run_id,)).fetchall()
            if row != run or planned != plan:
                raise WorkbenchError(f"Expected run {run_id} with the dataset, method and stages it was opened with. Start a new run.")
            connection.execute("UPDATE runs SET closed_at = NULL WHERE run_id = ?", (run_id,))

    def charge(self, run_id: str, stage: str, step: int) -> None:
        """Record that steps 1 to `step` of a stage are spent: durable on return, no effect for a step charged before.

        A replayed step may be charged so only if it repeats its own noise over the same result; otherwise `charge_again`.
        """
        with self._transaction() as connection:
            planned = _planned_steps(connection, run_id, stage)
            if not 1 <= step <= planned:
                raise WorkbenchError(f"Expected a step in 1..{planned} for stage {stage!r} of run {run_id}, got {step}. Nothing was spent.")
            connection.execute("UPDATE stages SET charged = max(charged, ?) WHERE run_id = ? AND name = ?", (step, run_id, stage))

    def charge_again(self, run_id: str, stage: str, steps: int) -> None:
        """Count `steps` more steps of a stage: those about to be recomputed that cannot be repeated exactly. Durable on return.

        Their noise must be fresh: the same noise over a slightly different result would cancel in the difference.
        """
        if steps < 0:
            raise WorkbenchError(f"Expected at least 0 steps to count again, got {steps}.")
        with self._transaction() as connection:
            _planned_steps(connection, run_id, stage)
            connection.execute("UPDATE stages SET charged_again = charged_again + ? WHERE run_id = ? AND name = ?", (steps, run_id, stage))

    def close_run(self, run_id: str) -> None:
        """Note that a run will spend no more, so that warnings count what it spent and not what it might have."""
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET closed_at = coalesce(closed_at, ?) WHERE run_id = ?", (_now(), run_id))

    def spent(self, run_id: str) -> list[StageSpending]:
        """What a run has spent, stage by stage in order, free stages included."""
        return list(self._entry(run_id).stages)

    def spent_event(self, run_id: str) -> "dp_event.DpEvent":
        """The event of what a run has spent so far."""
        from workbench.privacy.stages import compose

        return compose(self._entry(run_id).paid())

    def epsilon_spent(self, run_id: str, delta: float) -> PrivacyValue:
        """The bound of what a run has spent so far, under the relation that its own stages allow."""
        return bound_of(self._entry(run_id).paid(), check_delta(delta))

    def entries(self, fingerprint: str | None = None) -> list[LedgerEntry]:
        """All runs, or those on one dataset, oldest first; those of deleted runs are still here."""
        where, values = ("", ()) if fingerprint is None else (" WHERE fingerprint = ?", (fingerprint,))
        with self._transaction("DEFERRED") as connection:
            rows = connection.execute(f"SELECT * FROM runs{where} ORDER BY opened_at, rowid", values).fetchall()
            return [LedgerEntry(*row, stages=_spendings(connection, row[0])) for row in rows]

    def total(self, fingerprint: str, runs: Iterable[str] | None = None, delta: float | None = None) -> PrivacyValue:
        """The composed bound of all runs on a dataset, finished or not, or of `runs` alone, under REPLACE_SPECIAL.

        Every stage enters in its zero-out form; one that has none makes the total infinite and is named in the reason.
        `delta` defaults to the budget's, else to the smallest among the runs. The settings of the runs are taken as fixed in
        advance; settings chosen after looking at the results of earlier runs are not covered.
        """
        entries = self._chosen(fingerprint, runs)
        budget = self.budget(fingerprint)
        if delta is None and budget is None and not entries:
            raise WorkbenchError(f"Expected a delta: dataset {fingerprint} has no runs and no budget to take one from.")
        if delta is None:
            delta = budget.delta if budget is not None else min(entry.delta for entry in entries)
        return zero_out_total([(f"run {entry.run_id}", entry.paid()) for entry in entries], check_delta(delta))

    def set_budget(self, fingerprint: str, epsilon: float, delta: float) -> None:
        """Set what all runs on a dataset together may spend (zero-out relation); infinity lifts the limit."""
        if not epsilon > 0:
            raise WorkbenchError(f"Expected a budget epsilon above 0, got {epsilon}.")
        with self._transaction() as connection:
            values = (fingerprint, float(epsilon), check_delta(delta), _now())
            connection.execute("INSERT OR REPLACE INTO budgets VALUES (?, ?, ?, ?)", values)

    def budget(self, fingerprint: str) -> Budget | None:
        """The budget of a dataset, or None."""
        with self._transaction("DEFERRED") as connection:
            row = connection.execute("SELECT epsilon, delta FROM budgets WHERE fingerprint = ?", (fingerprint,)).fetchone()
        return None if row is None else Budget(*row)

    def has_budgets(self) -> bool:
        """Whether any dataset has a budget."""
        with self._transaction("DEFERRED") as connection:
            return connection.execute("SELECT 1 FROM budgets LIMIT 1").fetchone() is not None

    def warning_before(self, fingerprint: str, stages: "Sequence[Stage]", delta: float) -> str | None:
        """Why launching a run of `stages` could exceed the dataset's budget; None if it cannot or no budget is set.

        Runs that are not closed count with all they may still spend. Everything is taken at the smaller of the budget's delta
        and `delta`.
        """
        budget = self.budget(fingerprint)
        if budget is None or math.isinf(budget.epsilon):
            return None
        delta = min(check_delta(delta), budget.delta)
        before = [(f"run {entry.run_id}", entry.paid(reserve=True)) for entry in self.entries(fingerprint)]
        after = zero_out_total([*before, ("this run", [stage for stage in stages if stage.spent != "free"])], delta)
        if after.epsilon <= budget.epsilon:
            return None
        so_far = zero_out_total(before, delta).epsilon
        why = "" if after.is_finite else f" {after.reason}"
        return (
            f"Expected at most epsilon {budget.epsilon:.4g} on this dataset (its budget, at delta {delta:g}, zero-out): "
            f"its {len(before)} runs so far come to {so_far:.4g}, with this run to {after.epsilon:.4g}.{why} "
            "Spend less in this run, or raise the budget knowingly."
        )

    @contextmanager
    def _transaction(self, mode: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """A connection of its own (any thread, any process) in one transaction: on the disk at the end, undone on an error."""
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"BEGIN {mode}")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _set_up(self) -> None:
        """Write-ahead logging and the tables; the switch to WAL ignores SQLite's own busy timeout, so it is tried again."""
        make_private_file(self.path)
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
                    connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        with self._transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, *UPGRADES, SCHEMA_VERSION):
                raise WorkbenchError(f"Expected ledger version {SCHEMA_VERSION} in {self.path}, found {version}. Update the workbench.")
            for statement in SCHEMA if version == 0 else [line for old in range(version, SCHEMA_VERSION) for line in UPGRADES[old]]:
                connection.execute(statement)

    def _entry(self, run_id: str) -> LedgerEntry:
        with self._transaction("DEFERRED") as connection:
            row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None:
                raise WorkbenchError(f"Expected a run the ledger knows, got {run_id!r}. Open it before it touches data.")
            return LedgerEntry(*row, stages=_spendings(connection, run_id))

    def _chosen(self, fingerprint: str, runs: Iterable[str] | None) -> list[LedgerEntry]:
        entries = self.entries(fingerprint)
        if runs is None:
            return entries
        wanted = set(runs)
        if unknown := wanted - {entry.run_id for entry in entries}:
            raise WorkbenchError(f"Expected runs on dataset {fingerprint}, got {', '.join(sorted(unknown))}.")
        return [entry for entry in entries if entry.run_id in wanted]


def _columns(stage: "Stage") -> tuple[str, str, int, str, str, str, str, float]:
    from workbench.privacy.events import event_to_json

    event = json.dumps(event_to_json(stage.event), sort_keys=True)
    relations = " ".join(stage.relations)
    return stage.name, stage.spent, stage.steps, event, relations, stage.sampling, stage.reason, float(stage.sampler_distance)


def _spendings(connection: sqlite3.Connection, run_id: str) -> tuple[StageSpending, ...]:
    columns = "name, spent, steps, charged, charged_again, event, relations, sampling, reason, sampler_distance"
    rows = connection.execute(f"SELECT {columns} FROM stages WHERE run_id = ? ORDER BY position", (run_id,))
    return tuple(
        StageSpending(name, spent, steps, charged, again, json.loads(event), tuple(relations.split()), sampling, reason, distance)
        for name, spent, steps, charged, again, event, relations, sampling, reason, distance in rows
    )


def _planned_steps(connection: sqlite3.Connection, run_id: str, stage: str) -> int:
    row = connection.execute("SELECT steps FROM stages WHERE run_id = ? AND name = ?", (run_id, stage)).fetchone()
    if row is None:
        raise WorkbenchError(f"Expected a stage the ledger knows, got {stage!r} of run {run_id!r}. Open the run before it touches data.")
    return row[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
