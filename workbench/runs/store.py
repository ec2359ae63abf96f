"""The runs of the registry: what each is, beside the life of the job that trains it."""

import json
import sqlite3
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.errors import DamagedFileError, ReadOnlyHomeError, WorkbenchError
from workbench.files import check_writable, write_text_atomically
from workbench.jobs.away.sending import retire
from workbench.jobs.job import AT_WORK, RESUMABLE, Job, JobState, Life, Terms
from workbench.jobs.launchers import DEFAULT
from workbench.jobs.lifecycle import Jobs, beat, change, damaged_row_error, new_id
from workbench.jobs.registry import fields_of, insert, update
from workbench.runs.folder import RunFolder
from workbench.runs.run import TRAIN, TRAINING, Run, check_run_id
from workbench.runs.selection import SORTS, Facets, Selection
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan
    from workbench.privacy.attacks.canaries import AuditDesign
    from workbench.training.state import PerformanceSettings

LIFE = frozenset(Life.model_fields)
RUNS = f"SELECT runs.*, {', '.join(f'jobs.{name}' for name in Life.model_fields if name != 'id')} FROM runs JOIN jobs USING (id)"


class RunStore:
    """Creates, lists, reads, changes and deletes runs, with their jobs; every change is one transaction.

    The file is made with the first run.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.path = workspace, workspace.registry
        self._jobs = Jobs(workspace)
        self._database = self._jobs.database

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
        audit: "AuditDesign | None" = None,
        priority: int = 0,
        terms: Terms = TRAINING,
        launcher: str = DEFAULT,
    ) -> Run:
        """Register a queued run of `plan` on `dataset` (a name or an absolute path) and make its folder; `terms` say what it needs."""
        self._database.prepare()
        values, now = json.loads(dumps(plan)), time.time()
        run = Run(
            id=new_id(),
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
            releasable=seed is None and audit is None and plan.bound.status == "proved" and plan.bound.is_finite,
            claim_only=plan.claim_only,
            example=example,
            created=now,
            turn=now,
            priority=priority,
            launcher=launcher,
            parent=parent,
            audit=audit,
        )
        self._make_folder(run)
        life = {name: value for name, value in run if name in LIFE}
        with self._database.transaction() as connection:
            insert(connection, "jobs", dict(Job(task=TRAIN, owner=run.id, request={}, terms=terms, **life)))
            insert(connection, "runs", {name: value for name, value in run if name == "id" or name not in LIFE})
        return run

    def _make_folder(self, run: Run) -> None:
        check_writable(self.workspace.home)
        folder = RunFolder(self.workspace, run.id)
        folder.create()
        write_text_atomically(folder.plan, dumps(run.plan, indent=2))

    def get(self, run_id: str) -> Run:
        """The run called `run_id`; an unknown one is an error."""
        check_run_id(run_id)
        if not self.path.exists():
            raise unknown(run_id)
        with self._database.connected() as connection:
            run = self.within(connection, run_id)
        return self._all_seen([run])[0]

    def list(self, state: JobState | None = None, method: str | None = None) -> list[Run]:
        """Runs, newest first, of one state or method if asked."""
        runs = self.select(Selection(methods=() if method is None else (method,)))
        return [run for run in runs if state in (None, run.state)]

    def select(self, selection: Selection) -> "list[Run]":
        """The runs that are asked for. Where states are, those at work are looked at first, so that states are those of now."""
        if not self.path.exists():
            return []
        if selection.states:
            self._jobs.look_at_work()
        where, values = selection.where()
        with self._database.connected() as connection:
            wanted = f"SELECT runs.id FROM runs JOIN jobs USING (id) {where} {selection.how()}"  # answered by the indexes
            rows = connection.execute(f"{RUNS} WHERE runs.id IN ({wanted}) ORDER BY {SORTS[selection.order]}", values).fetchall()
        return self._all_seen([self._run(row) for row in rows])

    def count(self, selection: Selection) -> int:
        """How many runs are asked for, whatever the limit."""
        if not self.path.exists():
            return 0
        where, values = selection.where()
        with self._database.connected() as connection:
            return connection.execute(f"SELECT count(*) FROM runs JOIN jobs USING (id) {where}", values).fetchone()[0]

    def facets(self) -> Facets:
        """By what runs can be filtered, and what they are called."""
        if not self.path.exists():
            return Facets((), (), (), ())
        with self._database.connected() as connection:
            named = connection.execute(f"SELECT id, method, dataset FROM runs JOIN jobs USING (id) {Selection().how()}").fetchall()
            tags = connection.execute("SELECT DISTINCT value FROM runs, json_each(runs.tags) ORDER BY value").fetchall()
        methods, datasets = (sorted({row[column] for row in named}) for column in (1, 2))
        return Facets(methods, datasets, [row[0] for row in tags], [(row[0], row[1], row[2]) for row in named])

    def alike(self, method: str, dataset: str, steps: int, limit: int) -> tuple[Run, ...]:
        """The newest runs of so many steps of a method on a dataset that are done or running, at most `limit`."""
        where = "WHERE runs.method = ? AND runs.dataset = ? AND jobs.steps = ? AND jobs.state IN ('done', 'running')"
        with self._database.connected() as connection:
            how = f"{RUNS} {where} ORDER BY jobs.created DESC LIMIT ?"
            rows = connection.execute(how, (method, dataset, steps, limit)).fetchall()
        return tuple(self._run(row) for row in rows)

    def change(self, run_id: str, states: AbstractSet[JobState], action: str, **values: Any) -> Run:
        """Set fields of a run, or of its job, whose state is among `states`; else an error says why it cannot be `action`."""
        check_run_id(run_id)
        with self._database.transaction() as connection:
            change(connection, run_id, states, action, _of_job(values))
            update(connection, "runs", run_id, _of_run(values))
            return self.within(connection, run_id)

    def beat(self, run_id: str, attempt: int, **values: Any) -> JobState | None:
        """Record a sign of life and progress of the worker of `attempt`; None if another attempt has taken over."""
        with self._database.transaction() as connection:
            state = beat(connection, run_id, attempt, _of_job(values))
            if state is not None:
                update(connection, "runs", run_id, _of_run(values))
            return state

    def delete(self, run_id: str) -> None:
        """Remove a run and its folder, noise key first, and its jobs; refused while one is at work. Ledger entries stay."""
        self.get(run_id)
        with self._jobs.forgetting(run_id) as connection:
            retire(self.workspace, run_id)
            RunFolder(self.workspace, run_id).remove()
            connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    def _all_seen(self, runs: Sequence[Run]) -> "list[Run]":
        """The runs as they are now: those whose workers are gone change their state here, and those that ended say what the ledger says.

        Each launcher is asked once.
        """
        lives = self._jobs.named(run.id for run in runs if run.state in AT_WORK)
        return [self._with_job_state(run, lives.get(run.id)) for run in runs]

    def _with_job_state(self, run: Run, life: Job | None) -> Run:
        if life is not None and any(getattr(life, name) != getattr(run, name) for name in LIFE):
            with self._database.connected() as connection:
                run = self.within(connection, run.id).model_copy(update={name: getattr(life, name) for name in LIFE})
        return self._with_spending(run) if run.state in RESUMABLE and run.settled < run.attempt else run

    def _with_spending(self, run: Run) -> Run:
        """The run with at least what the ledger says that it spent, asked once after each attempt that did not come to the end.

        Where nothing can be read or written just now (a full disk, a closed home), it is asked again later.
        """
        with suppress(sqlite3.OperationalError, ReadOnlyHomeError):
            spent = spent_by(self.workspace, run)
            run = run.model_copy(update={"epsilon_spent": spent})
            with self._database.transaction() as connection:
                how = "UPDATE runs SET epsilon_spent = max(epsilon_spent, ?), settled = max(settled, ?) WHERE id = ?"
                connection.execute(how, (spent, run.attempt, run.id))
            run = run.model_copy(update={"settled": run.attempt})
        return run

    def within(self, connection: sqlite3.Connection, run_id: str) -> Run:
        """The run as a transaction sees it; an unknown one is an error."""
        row = connection.execute(f"{RUNS} WHERE runs.id = ?", (run_id,)).fetchone()
        if row is None:
            raise unknown(run_id)
        return self._run(row)

    def _run(self, row: sqlite3.Row) -> Run:
        try:
            return _validated(row)
        except ValueError as error:
            raise damaged_row_error(self.workspace, "run", error) from error


@lru_cache(maxsize=4_096)
def _validated(row: sqlite3.Row) -> Run:
    """The run of a row, made once as long as the row is what it was: validation is most of what a list of a thousand runs takes."""
    return Run.model_validate(fields_of(row))


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


def _of_job(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in LIFE}


def _of_run(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in LIFE}
