"""The life of a job, written once for every task: registered, started, at work, ended, or found dead."""

import json
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

from workbench.errors import DamagedFileError, ReadOnlyHomeError, WorkbenchError
from workbench.jobs.job import ACTIVE, WAITING, WORKSPACE, Job, JobState, Terms, check_id
from workbench.jobs.launchers import DEFAULT, Status
from workbench.jobs.observing import changes_of, statuses, to_record
from workbench.jobs.registry import REMEDY, fields_of, insert, registry, text_of, update
from workbench.workspace import Workspace

IN_USE = "state IN ('queued', 'pending', 'starting', 'running', 'cancelling')"
IN_TURN = "priority DESC, turn, created, rowid"
ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


class Jobs:
    """Registers, reads, changes and removes jobs; every change is one transaction that checks the state it starts from.

    Reading is what finds out that a process has died: such a job is shown as lost (or cancelled, if it was being cancelled). One that
    never got a process waits again.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.database = registry(workspace)

    def get(self, job_id: str) -> Job:
        """The job called `job_id`; an unknown one is an error."""
        check_id(job_id)
        for job in self._select("WHERE id = ?", job_id):
            return self.refreshed_job(job)
        raise unknown(job_id)

    def all(self) -> list[Job]:
        """All jobs, newest first."""
        return self.all_seen(self._select("ORDER BY created DESC, rowid DESC"))

    def of(self, owner: str) -> list[Job]:
        """The jobs of a run or an import, newest first; the one that trains it too."""
        return self.all_seen(self._select("WHERE owner = ? ORDER BY created DESC, rowid DESC", owner))

    def find(self, task: str, owner: str, request: Mapping[str, Any]) -> Job | None:
        """The job of this request in its task's normal form, or None."""
        where = "WHERE task = ? AND owner = ? AND request = ?"
        return next((self.refreshed_job(job) for job in self._select(where, task, owner, text_of(request))), None)

    def register(self, task: str, owner: str, request: Mapping[str, Any], terms: Terms, job_id: str = "") -> Job:
        """The job of this request, which its task has checked and put in its normal form; queued if there was none.

        A new one is called `job_id` where its task derives that from the request.
        """
        self.database.prepare()
        with self.database.transaction() as connection:
            job = self._read(connection, "task = ? AND owner = ? AND request = ?", task, owner, text_of(request))
            if job is None:
                self._check_there(connection, owner)
                now = time.time()
                life: dict[str, Any] = {"state": "queued", "steps": terms.steps, "created": now, "turn": now, "launcher": DEFAULT}
                job = Job(id=job_id or new_id(), task=task, owner=owner, request=dict(request), terms=terms, **life)
                insert(connection, "jobs", dict(job))
        return job

    def change(self, job_id: str, states: AbstractSet[JobState], action: str, **values: Any) -> Job:
        """Set fields of a job whose state is among `states`; else an error says why it cannot be `action` (a past participle)."""
        check_id(job_id)
        with self.database.transaction() as connection:
            change(connection, job_id, states, action, values)
            return self.within(connection, job_id)

    def beat(self, job_id: str, attempt: int, **values: Any) -> JobState | None:
        """Record a sign of life and progress of the process of `attempt`; None if another attempt has taken over."""
        with self.database.transaction() as connection:
            return beat(connection, job_id, attempt, values)

    def refreshed_job(self, job: Job) -> Job:
        """The job as it is now: one whose process is gone changes its state here."""
        return self.all_seen([job])[0]

    def all_seen(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs as they are now; each launcher is asked once.

        Where nothing can be written just now (a full disk, a closed home), they are shown so and written down later.
        """
        known = statuses(jobs)
        return [self._brought_up(job, known.get(job.id)) for job in jobs]

    def _brought_up(self, job: Job, status: Status | None) -> Job:
        if changes_of(self.workspace, job, status) is None:
            return job
        try:
            with self.database.transaction() as connection:
                now = self.within(connection, job.id)
                if (now.state, now.attempt, now.process) == (job.state, job.attempt, job.process):
                    of_job, of_run = to_record(self.workspace, now, status)
                    update(connection, "jobs", job.id, of_job)
                    update(connection, "runs", job.id, of_run)
                return self.within(connection, job.id)
        except (sqlite3.OperationalError, OSError, ReadOnlyHomeError):
            of_job, _ = changes_of(self.workspace, job, status) or ({}, {})
            return job.model_copy(update=of_job)

    def forget(self, job_id: str) -> None:
        """Remove a job that has ended, with its log; what it made stays. One that trains goes with its run."""
        job = self.get(job_id)
        if job.is_active or job.id == job.owner:
            raise WorkbenchError(f"{job_id} is {'a run' if job.id == job.owner else job.state}. Cancel it first, or delete the run.")
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ? AND attempt = ? AND state = ?", (job_id, job.attempt, job.state))
        shutil.rmtree(self.workspace.jobs / job_id, ignore_errors=True)

    @contextmanager
    def forgetting(self, owner: str) -> Iterator[sqlite3.Connection]:
        """Remove the jobs of a run or an import in the transaction in which the block removes it; refused while one is at work."""
        self.database.prepare()
        self.of(owner)  # the dead are found
        with self.database.transaction() as connection:
            jobs = [self._job(row) for row in connection.execute("SELECT * FROM jobs WHERE owner = ?", (owner,))]
            for job in jobs:
                if job.is_active and job.state not in WAITING:
                    what = "It is" if job.id == owner else f"Its job {job.id} ({job.terms.title}) is"
                    raise WorkbenchError(f"{owner} cannot be deleted. {what} {job.state}. Cancel it first, then delete it.")
            yield connection
            for job in jobs:
                shutil.rmtree(self.workspace.jobs / job.id, ignore_errors=True)
            connection.execute("DELETE FROM jobs WHERE owner = ?", (owner,))

    def last_done(self, task: str, limit: int) -> list[Job]:
        """The newest jobs of a task that are done, at most `limit`."""
        return self._select("WHERE task = ? AND state = 'done' ORDER BY created DESC LIMIT ?", task, limit)

    def look_at_work(self) -> None:
        """Find out what became of the jobs at work."""
        self.all_seen(self._select(f"WHERE {IN_USE}"))

    def named(self, ids: Iterable[str]) -> dict[str, Job]:
        """The jobs of which these are the ids, as they are now, by id; each launcher is asked once. Unknown ones are not there."""
        wanted = list(ids)
        jobs = self._select("WHERE id IN (SELECT value FROM json_each(?))", json.dumps(wanted)) if wanted else []
        return {job.id: job for job in self.all_seen(jobs)}

    def paused_jobs(self) -> list[Job]:
        """The jobs that wait for room on the disk, in their order."""
        return self._select(f"WHERE state = 'paused' ORDER BY {IN_TURN}")

    def active(self) -> tuple[list[Job], list[Job]]:
        """The jobs that wait for their turn, in their order, and those at work; the dead are found first."""
        self.all_seen(self._select(f"WHERE {IN_USE}"))
        if not self.database.path.exists():
            return [], []
        with self.database.transaction("DEFERRED") as connection:
            return self.active_within(connection)

    def active_within(self, connection: sqlite3.Connection) -> tuple[list[Job], list[Job]]:
        """The same as a transaction sees them."""
        jobs = [self._job(row) for row in connection.execute(f"SELECT * FROM jobs WHERE {IN_USE} ORDER BY {IN_TURN}")]
        return [job for job in jobs if job.state == "queued"], [job for job in jobs if job.state != "queued"]

    def _select(self, how: str, *values: str | int) -> list[Job]:
        if not self.database.path.exists():
            return []
        with self.database.connected() as connection:
            return [self._job(row) for row in connection.execute(f"SELECT * FROM jobs {how}", values)]

    def _read(self, connection: sqlite3.Connection, where: str, *values: str) -> Job | None:
        row = connection.execute(f"SELECT * FROM jobs WHERE {where}", values).fetchone()
        return None if row is None else self._job(row)

    def _check_there(self, connection: sqlite3.Connection, owner: str) -> None:
        """Refuse an owner that was deleted since it was looked at."""
        if (
            owner != WORKSPACE
            and connection.execute("SELECT 1 FROM runs WHERE id = ?", (owner,)).fetchone() is None
            and not (self.workspace.imports / owner).exists()
        ):
            raise WorkbenchError(f"{owner} has been deleted.")

    def within(self, connection: sqlite3.Connection, job_id: str) -> Job:
        """The job as a transaction sees it, alive or dead; an unknown one is an error."""
        job = self._read(connection, "id = ?", job_id)
        if job is None:
            raise unknown(job_id)
        return job

    def _job(self, row: sqlite3.Row) -> Job:
        try:
            return Job.model_validate(fields_of(row))
        except ValueError as error:
            raise damaged_row_error(self.workspace, "job", error) from error


def change(connection: sqlite3.Connection, job_id: str, states: AbstractSet[JobState], action: str, values: Mapping[str, Any]) -> None:
    """`Jobs.change` within a transaction."""
    row = connection.execute("SELECT state FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None:
        raise unknown(job_id)
    if row["state"] not in states:
        raise WorkbenchError(f"{job_id} cannot be {action}: expected it to be {', '.join(sorted(states))}, it is {row['state']}.")
    update(connection, "jobs", job_id, values)


def beat(connection: sqlite3.Connection, job_id: str, attempt: int, values: Mapping[str, Any]) -> JobState | None:
    """`Jobs.beat` within a transaction."""
    row = connection.execute("SELECT state FROM jobs WHERE id = ? AND attempt = ?", (job_id, attempt)).fetchone()
    if row is None or row["state"] not in ACTIVE:
        return None
    update(connection, "jobs", job_id, {"heartbeat": time.time(), **values})
    return row["state"]


def new_id() -> str:
    """An id for a job or a run."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(8))


def unknown(job_id: str) -> WorkbenchError:
    """The error of a job that is not in the registry."""
    return WorkbenchError(f"Unknown run or job {job_id!r}. `workbench jobs` lists them all, `workbench runs` the runs.")


def damaged_row_error(workspace: Workspace, what: str, error: Exception) -> DamagedFileError:
    """The error of a row that cannot be read."""
    return DamagedFileError(f"Expected a whole {what} in {workspace.registry}, got a damaged row ({type(error).__name__}). {REMEDY}")
