"""Where one process of an attempt reports: a journal and a report of its own, numbered, and the lease, which the last to begin has."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from workbench.errors import WorkbenchError
from workbench.files import write_text_atomically, written_atomically
from workbench.jobs.away.order import CANCEL, ORDER, Order, row_of
from workbench.jobs.launchers.base import AWAY
from workbench.jobs.registry import registry
from workbench.privacy.spending.journals import Counts, Journal, journal_path, lease, new_journal, read_journals, take_lease
from workbench.serialization import dumps
from workbench.workspace import Workspace

MARK = "post.json"
PREEMPTED = 75  # the exit code of a worker that was signalled by its engine and has kept its checkpoint


@dataclass(frozen=True)
class Post:
    """The post of a process for an attempt, in the `folder` of its job."""

    folder: Path
    number: int
    attempt: int

    @classmethod
    def take(cls, folder: Path, attempt: int) -> Self:
        """The next post, from which moment those before it write no more; refused where the order is of another attempt, or has ended."""
        order = Order.read(folder)
        if order.attempt != attempt or order.ended:
            expected = "none, as it has ended" if order.ended else f"attempt {order.attempt}"
            raise WorkbenchError(f"Expected {expected}, got a process that was started for attempt {attempt}. It does nothing.")
        post = cls(folder, new_journal(folder), attempt)
        take_lease(folder, post.number)
        return post

    @classmethod
    def of_home(cls, workspace: Workspace) -> Self | None:
        """The post of the process that has this home for its own; None in a home that is nobody's post."""
        mark = workspace.home / MARK
        if not mark.exists():
            return None
        written = json.loads(mark.read_text())
        return cls(Path(written["folder"]), written["number"], written["attempt"])

    @classmethod
    def of(cls, workspace: Workspace, run_id: str, attempt: int) -> Self | None:
        """The post of an attempt at a run: that of this home, or a new one where the run was elsewhere before; None where it never was."""
        folder = workspace.runs / run_id / AWAY
        return cls.of_home(workspace) or (cls.take(folder, attempt) if folder.exists() else None)

    def mark(self, workspace: Workspace) -> None:
        """Make a home this post's."""
        values = {"folder": str(self.folder), "number": self.number, "attempt": self.attempt}
        write_text_atomically(workspace.home / MARK, json.dumps(values))

    @property
    def journal(self) -> Journal:
        """What it charges."""
        return Journal(journal_path(self.folder, self.number))

    def begin(self) -> Counts:
        """What was charged before it, by whatever process: the most that it may be, where a journal cannot be read."""
        journal = read_journals(self.folder)
        return journal.most or journal.counts

    def is_taken_over(self) -> bool:
        """Whether another process has the lease, or the order has ended or is of another attempt; also where neither can be read."""
        try:
            order = json.loads((self.folder / ORDER).read_text())
            return lease(self.folder) != self.number or order["attempt"] != self.attempt or order["ended"]
        except (OSError, ValueError, KeyError):
            return True

    def is_closed(self) -> bool:
        """Whether a process had the whole model on the disk."""
        return read_journals(self.folder).is_closed

    def is_cancelled(self) -> bool:
        """Whether whoever ordered the attempt wants it to stop."""
        return (self.folder / CANCEL).exists()

    def report(self, job: dict[str, Any], run: dict[str, Any] | None, ended: bool = False, durable: bool = False) -> None:
        """Say where the job and its run stand; `ended`: this is how the attempt ended."""
        with written_atomically(_report(self.folder, self.number), durable=durable) as file:
            file.write(dumps({"attempt": self.attempt, "ended": ended, "job": job, "run": run}))


@dataclass(frozen=True)
class News:
    """The last report of the process that has the lease; `began` tells whether there was one at all."""

    job: dict[str, Any]
    run: dict[str, Any]
    ended: bool
    began: bool

    @classmethod
    def of(cls, folder: Path, attempt: int) -> "News":
        """The news of an attempt; a report that cannot be read now is none."""
        with suppress(OSError, ValueError):
            report = json.loads(_report(folder, lease(folder)).read_text())
            if report["attempt"] == attempt:
                return cls(report["job"], report["run"] or {}, report["ended"], True)
        return cls({}, {}, False, False)


def rows_of(workspace: Workspace, job_id: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What this home's registry has of a job and of the run that it trains."""
    with registry(workspace).connected() as connection:
        return row_of(connection, "jobs", job_id) or {}, row_of(connection, "runs", job_id)


def _report(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.report.json"
