"""The ledger: what every run on a dataset may spend and has spent, on the disk before a record is touched, kept for good."""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from workbench.errors import WorkbenchError, check_delta
from workbench.files import is_read_only
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.accounts import kept_hashes, on_account, resembling_datasets
from workbench.privacy.spending.away import count_all, count_run
from workbench.privacy.spending.filters import passes_filter
from workbench.privacy.spending.journals import ACCOUNT, keep_entry, read_journals
from workbench.privacy.spending.ledger_file import ledger_file
from workbench.privacy.spending.rows import PLANNED, RUNS, columns, comparable, entry_of, planned_columns, planned_steps
from workbench.privacy.spending.totals import Budget, LedgerEntry, StageSpending, bound_of, labelled_epsilon, zero_out_total
from workbench.privacy.spending.whose import account_name, records_of

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

Purpose = Literal["training", "tuning", "sampling"]


class Ledger:
    """An SQLite file that only ever grows, safe for concurrent threads and processes.

    An account goes by the name of whose records a dataset has. It holds every run on them, whatever version or form of the records it
    was on, and every run on exactly equal records under another name. Methods that take an account take a fingerprint of its
    records as well.

    Nothing is removed when a run is deleted. A charge is on the disk before `charge` returns, so whatever then happens to
    the process, the count is at least the number of steps that touched the data.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = ledger_file(self.path)
        self._database.prepare()
        if not is_read_only(self.path.parent):  # a run that is away is open there, and counts with all that it may spend
            count_all(self._database, self.path.parent)

    def open_run(
        self,
        run_id: str,
        fingerprint: str,
        dataset: str,
        method: str,
        stages: "Sequence[Stage]",
        delta: float,
        purpose: Purpose = "training",
        account: str | None = None,
        public: str = "",
    ) -> None:
        """Record what a run may spend, before anything is touched; opening the same run again (a resume) keeps its counts.

        `purpose` only tells runs apart in lists: every run counts alike. The workbench itself opens "training" and "sampling";
        "tuning" is for scripts that mark the runs by which they choose settings. `account` is the dataset's name, by default the
        one that `dataset` (a registered name or a path) has by itself. `public` names the images that the run takes to be public.

        Errors: a known `run_id` with another dataset, method or other stages; two stages of one name; delta outside (0, 1).
        """
        if purpose not in get_args(Purpose):
            raise WorkbenchError(f"Expected a purpose among {', '.join(get_args(Purpose))}, got {purpose!r}.")
        if len({stage.name for stage in stages}) < len(stages):
            raise WorkbenchError(f"Expected different names for the stages of run {run_id}, got {', '.join(s.name for s in stages)}.")
        run = (run_id, fingerprint, dataset, method, purpose, check_delta(delta))
        plan = [(position, *columns(stage)) for position, stage in enumerate(stages)]
        with self._database.transaction() as connection:
            known = connection.execute("SELECT run_id, fingerprint, dataset, method, purpose, delta FROM runs WHERE run_id = ?", (run_id,))
            if (row := known.fetchone()) is None:
                connection.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, 0)",
                    (*run, _now(), records_of(account or account_name(dataset)), public),
                )
                rows = [(run_id, *planned) for planned in plan]
                connection.executemany(f"INSERT INTO stages (run_id, {PLANNED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
                return
            planned = connection.execute(f"SELECT {PLANNED} FROM stages WHERE run_id = ? ORDER BY position", (run_id,)).fetchall()
            if tuple(row) != run or comparable(planned) != comparable(plan):
                raise WorkbenchError(f"Expected run {run_id} with the dataset, method and stages it was opened with. Start a new run.")
            connection.execute("UPDATE runs SET closed_at = NULL, ended_early = 0 WHERE run_id = ?", (run_id,))

    def charge(self, run_id: str, stage: str, step: int) -> None:
        """Record that steps 1 to `step` of a stage are spent: durable on return, no effect for a step charged before.

        A replayed step may be charged so only if it repeats its own noise over the same result; otherwise `charge_again`.
        """
        with self._database.transaction() as connection:
            planned = planned_steps(connection, run_id, stage)
            if not 1 <= step <= planned:
                raise WorkbenchError(f"Expected a step in 1..{planned} for stage {stage!r} of run {run_id}, got {step}. Nothing was spent.")
            connection.execute("UPDATE stages SET charged = max(charged, ?) WHERE run_id = ? AND name = ?", (step, run_id, stage))

    def charge_again(self, run_id: str, stage: str, steps: int) -> None:
        """Count `steps` more steps of a stage: those about to be recomputed that cannot be repeated exactly. Durable on return.

        Their noise must be fresh: the same noise over a slightly different result would cancel in the difference.
        """
        if steps < 0:
            raise WorkbenchError(f"Expected at least 0 steps to count again, got {steps}.")
        with self._database.transaction() as connection:
            planned_steps(connection, run_id, stage)
            connection.execute("UPDATE stages SET charged_again = charged_again + ? WHERE run_id = ? AND name = ?", (steps, run_id, stage))

    def take_over(self, entry: LedgerEntry) -> None:
        """Have at least as much of a run as another home's ledger has: it is opened here if it is not known, and no count falls.

        Raises WorkbenchError for a run that is known with another dataset, method or other stages.
        """
        run = (entry.run_id, entry.fingerprint, entry.dataset, entry.method, entry.purpose, check_delta(entry.delta))
        plan = [(position, *planned_columns(stage)) for position, stage in enumerate(entry.stages)]
        with self._database.transaction() as connection:
            known = connection.execute("SELECT dataset, method, purpose, delta FROM runs WHERE run_id = ?", (entry.run_id,)).fetchone()
            if known is None:
                row = (*run, entry.opened_at, entry.closed_at, entry.account, entry.public, entry.ended_early)
                connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                rows = [(entry.run_id, *planned) for planned in plan]
                connection.executemany(f"INSERT INTO stages (run_id, {PLANNED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            planned = connection.execute(f"SELECT {PLANNED} FROM stages WHERE run_id = ? ORDER BY position", (entry.run_id,)).fetchall()
            if known is not None and (tuple(known) != run[2:] or comparable(planned) != comparable(plan)):
                raise WorkbenchError(
                    f"Expected run {entry.run_id} as this ledger knows it, got one with another dataset, method or stages."
                )
            connection.execute("UPDATE runs SET ended_early = max(ended_early, ?) WHERE run_id = ?", (entry.ended_early, entry.run_id))
            counts = [(stage.charged, stage.charged_again, entry.run_id, stage.stage) for stage in entry.stages]
            raised = "charged = max(charged, ?), charged_again = max(charged_again, ?)"
            connection.executemany(f"UPDATE stages SET {raised} WHERE run_id = ? AND name = ?", counts)

    def send_away(self, run_id: str, folder: Path) -> None:
        """Count for an open run what journals in `folder` say from now on, whenever the ledger is opened.

        The run's entry is kept there: a ledger that was put back from before knows it again once it is sent away again. Raises OSError or
        WorkbenchError where nothing can be said of a folder that has an entry.
        """
        if (folder / ACCOUNT).exists():
            self.take_over(read_journals(folder).entry)
        else:
            keep_entry(folder, self.entry(run_id))
        place = folder.relative_to(self.path.parent) if folder.is_relative_to(self.path.parent) else folder
        with self._database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO away (run_id, folder) VALUES (?, ?)", (run_id, str(place)))
            connection.execute("UPDATE away SET folder = ? WHERE run_id = ?", (str(place), run_id))
            connection.execute("UPDATE runs SET closed_at = NULL WHERE run_id = ?", (run_id,))
        count_run(self._database, self.path.parent, run_id, str(place))

    @staticmethod
    def knows_away(path: Path, run_id: str) -> bool:
        """Whether the ledger at `path` reads the journals of a run, without reading any."""
        if not path.exists():
            return False
        database = ledger_file(path)
        database.prepare()  # the file may be empty yet
        with database.connected() as connection:
            return connection.execute("SELECT 1 FROM away WHERE run_id = ?", (run_id,)).fetchone() is not None

    def close_run(self, run_id: str, ended_early: bool = False) -> None:
        """Note that a run will spend no more, so that warnings count what it spent and not what it might have.

        `ended_early`: it kept what it had made before its last step. Totals count all its steps, a budget those that it took.
        Processes that keep journals for it are told before to stop. The journals are read once more; those that cannot be stay counted.
        """
        with self._database.connected() as connection:
            sent = connection.execute("SELECT folder FROM away WHERE run_id = ?", (run_id,)).fetchone()
        is_known = sent is None or count_run(self._database, self.path.parent, run_id, sent["folder"])
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE runs SET closed_at = coalesce(closed_at, ?), ended_early = max(ended_early, ?) WHERE run_id = ?",
                (_now(), ended_early, run_id),
            )
            if is_known:
                connection.execute("DELETE FROM away WHERE run_id = ?", (run_id,))

    def spent(self, run_id: str) -> list[StageSpending]:
        """What a run has spent, stage by stage in order, free stages included."""
        return list(self.entry(run_id).stages)

    def epsilon_spent(self, run_id: str, delta: float) -> PrivacyValue:
        """The bound of what a run has spent so far, under the relation that its own stages allow."""
        entry = self.entry(run_id)
        return labelled_epsilon(bound_of(entry.paid_stages(), check_delta(delta)), [entry])

    def entries(self, *accounts: str) -> list[LedgerEntry]:
        """All runs, or those on the account of a name or fingerprint, oldest first; those of deleted runs are still here."""
        with self._database.transaction("DEFERRED") as connection:
            rows = connection.execute(f"SELECT {RUNS} FROM runs ORDER BY opened_at, rowid").fetchall()
            everything = [entry_of(connection, row) for row in rows]
        return on_account(everything, accounts)[0] if accounts else everything

    def note_records(self, fingerprint: str, hashes: np.ndarray) -> None:
        """Keep the keyed hashes (distinct, sorted, uint64) of the records behind a fingerprint, so that they are known again."""
        with self._database.transaction() as connection:
            kept = kept_hashes(hashes).astype("<u8").tobytes()
            connection.execute("INSERT OR IGNORE INTO record_hashes VALUES (?, ?)", (fingerprint, kept))

    def has_other_records(self, account: str) -> bool:
        """Whether records are known that are not on this account."""
        return bool(self._other_records({account}))

    def resemblance(self, account: str, fingerprint: str, hashes: np.ndarray) -> str | None:
        """Why runs on records with these hashes belong to another account too; None if no other has a tenth of them."""
        shares = resembling_datasets(hashes, self._other_records({account, fingerprint}))
        if not shares:
            return None
        names = ", ".join(f"{name!r} ({share:.0%})" for name, share in sorted(shares.items()))
        return (
            f"Expected records of {account!r} under no other name, got much the same under {names}: who is in both is protected by "
            "neither account's total alone. Use the same name, or add up the totals."
        )

    def _other_records(self, accounts: set[str]) -> dict[str, np.ndarray]:
        """Record hashes by the name and fingerprint of other accounts."""
        entries = self.entries()
        mine = on_account(entries, accounts)[1]
        names = {entry.fingerprint: entry.account for entry in entries if entry.fingerprint not in mine}
        with self._database.transaction("DEFERRED") as connection:
            rows = connection.execute("SELECT fingerprint, hashes FROM record_hashes").fetchall()
        by_name: dict[str, np.ndarray] = {}
        for fingerprint, hashes in rows:
            if fingerprint in names:
                by_name[f"{names[fingerprint]}"] = np.union1d(
                    by_name.get(names[fingerprint], np.array([], "<u8")), np.frombuffer(hashes, "<u8")
                )
        return by_name

    def total(self, account: str, runs: Iterable[str] | None = None, delta: float | None = None) -> PrivacyValue:
        """The composed bound of all runs on an account, finished or not, or of `runs` alone, under REPLACE_SPECIAL.

        Every stage enters in its zero-out form; one that has none makes the total infinite and is named in the reason.
        `delta` defaults to the budget's, else to the smallest among the runs. The settings of the runs are taken as fixed in
        advance; settings chosen after looking at the results of earlier runs are not covered.
        """
        entries = self._chosen_entries(account, runs)
        budget = self.budget(account)
        if delta is None and budget is None and not entries:
            raise WorkbenchError(f"Expected a delta: dataset {account} has no runs and no budget to take one from.")
        if delta is None:
            delta = budget.delta if budget is not None else min(entry.delta for entry in entries)
        total = zero_out_total([(f"run {entry.run_id}", entry.paid_stages()) for entry in entries], check_delta(delta))
        return labelled_epsilon(total, entries)

    def set_budget(self, account: str, epsilon: float, delta: float) -> None:
        """Set what all runs on an account together may spend (zero-out relation); infinity lifts the limit."""
        if not epsilon > 0:
            raise WorkbenchError(f"Expected a budget epsilon above 0, got {epsilon}.")
        values = (records_of(account), float(epsilon), check_delta(delta), _now())
        keys = on_account(self.entries(), {account})[1]
        with self._database.transaction() as connection:
            set_for = [key for (key,) in connection.execute("SELECT account FROM budgets") if records_of(key) in keys]
            connection.executemany("DELETE FROM budgets WHERE account = ?", [(key,) for key in set_for])
            connection.execute("INSERT INTO budgets VALUES (?, ?, ?, ?)", values)

    def budget(self, *accounts: str) -> Budget | None:
        """The budget of an account given by names or fingerprints, the strictest where several hold, or None."""
        keys = on_account(self.entries(), accounts)[1]
        budgets_here = [Budget(epsilon, delta) for key, (epsilon, delta) in self.budgets().items() if key in keys]
        return min(budgets_here, key=lambda budget: (budget.epsilon, budget.delta), default=None)

    def budgets(self) -> dict[str, tuple[float, float]]:
        """Epsilon and delta of every budget, by the account or fingerprint it was set for."""
        with self._database.transaction("DEFERRED") as connection:
            rows = connection.execute("SELECT account, epsilon, delta FROM budgets ORDER BY epsilon DESC, delta DESC").fetchall()
        return {records_of(account): (epsilon, delta) for account, epsilon, delta in rows}  # of several the strictest

    def has_budgets(self) -> bool:
        """Whether any dataset has a budget."""
        return bool(self.budgets())

    def warning_before(
        self,
        account: str,
        stages: "Sequence[Stage]",
        delta: float,
        *fingerprints: str,
        waiting: "Sequence[tuple[str, list[Stage]]]" = (),
        what: str = "this run",
    ) -> str | None:
        """Why launching a run of `stages` could exceed the budget of the account or of its `fingerprints`; None if it cannot.

        Runs that are not closed count with all they may still spend, and so do runs `waiting` to open their account, by id with their
        stages. Everything is taken at the smaller of the budget's delta and `delta`. `what` is what the stages are called. A run that
        ended early gives back what it did not take, where a filter can be proved (`filters`).
        """
        budget = self.budget(account, *fingerprints)
        if budget is None or math.isinf(budget.epsilon):
            return None
        delta = min(check_delta(delta), budget.delta)
        entries, new = self.entries(account, *fingerprints), [*waiting, (what, [stage for stage in stages if stage.spent != "free"])]
        before = [(f"run {entry.run_id}", entry.paid_stages(reserve=True)) for entry in entries]
        before += [(f"run {run_id}", planned) for run_id, planned in waiting]
        after = zero_out_total([*before, new[-1]], delta)
        if after.epsilon <= budget.epsilon or passes_filter(entries, new, budget.epsilon, delta):
            return None
        so_far = zero_out_total(before, delta).epsilon
        why = "" if after.is_finite else f" {after.reason}"
        return (
            f"Expected at most epsilon {budget.epsilon:.4g} on this dataset (its budget, at delta {delta:g}, zero-out): "
            f"its {len(before)} runs so far come to {so_far:.4g}, with {what} to {after.epsilon:.4g}.{why} "
            f"Spend less in {what}, or raise the budget knowingly."
        )

    def entry(self, run_id: str) -> LedgerEntry:
        """A run as the ledger knows it; an unknown one is an error."""
        with self._database.transaction("DEFERRED") as connection:
            row = connection.execute(f"SELECT {RUNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None:
                raise WorkbenchError(f"Expected a run the ledger knows, got {run_id!r}. Open it before it touches data.")
            return entry_of(connection, row)

    def _chosen_entries(self, account: str, runs: Iterable[str] | None) -> list[LedgerEntry]:
        entries = self.entries(account)
        if runs is None:
            return entries
        wanted = set(runs)
        if unknown := wanted - {entry.run_id for entry in entries}:
            raise WorkbenchError(f"Expected runs on dataset {account}, got {', '.join(sorted(unknown))}.")
        return [entry for entry in entries if entry.run_id in wanted]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
