"""The queue as a reader sees it: what is at work, what waits for what, and when each is expected to start and end."""

import time
from dataclasses import dataclass

from workbench.jobs.job import Job
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import settings
from workbench.jobs.queue.forecast import ExpectedTimes, Seconds, foresee
from workbench.jobs.queue.passing import look_after
from workbench.jobs.queue.places import Turn, assign
from workbench.jobs.queue.settings import Settings
from workbench.workspace import Workspace


@dataclass(frozen=True)
class Entry:
    """A job of the queue: its `place` (0 at work or paused, 1 the next), why it waits, and when it is expected to start and end."""

    job: Job
    place: int
    reason: str
    expected: ExpectedTimes


@dataclass(frozen=True)
class Line:
    """All jobs at work, paused and in wait, in order, and what is set for them."""

    entries: tuple[Entry, ...]
    settings: Settings

    def entry(self, job_id: str) -> Entry | None:
        """That of a job, None where it neither waits nor is at work."""
        return next((entry for entry in self.entries if entry.job.id == job_id), None)


def line(workspace: Workspace, seconds: Seconds = lambda _: None) -> Line:
    """The queue as it is now; looking at it starts what fits where its process has died.

    `seconds` says how long a job is expected to take from its start.
    """
    look_after(workspace)
    jobs = Jobs(workspace)
    jobs.active()  # the dead are found
    if not workspace.registry.exists():
        return Line((), Settings())
    with jobs.database.transaction("DEFERRED") as connection:
        waiting, at_work = jobs.active_within(connection)
        chosen = settings.stored_settings(connection)
    room = settings.with_settings(settings.machine(waiting), chosen)
    expected = foresee(waiting, at_work, room, seconds, time.time())
    working = [Entry(job, 0, job.reason, expected[job.id]) for job in sorted(at_work, key=lambda job: job.started or 0.0)]
    paused = [Entry(job, 0, job.error or "it is paused", ExpectedTimes()) for job in jobs.paused_jobs()]
    turns = enumerate(assign(waiting, at_work, room), 1)
    return Line((*working, *paused, *(Entry(turn.job, place, _words(turn), expected[turn.job.id]) for place, turn in turns)), chosen)


def _words(turn: Turn) -> str:
    return turn.reason or "it is about to start"
