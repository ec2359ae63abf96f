"""When each job is expected to start and to end: the queue's own rule, played through with what each is expected to take."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.jobs.job import Job
from workbench.jobs.queue.places import Room, assign

Seconds = Callable[[Job], float | None]  # how long a job is expected to take from its start, None where nobody knows
MOST_EVENTS = 200  # starts and ends that are played through; what comes after is not foreseen


@dataclass(frozen=True)
class ExpectedTimes:
    """When a job starts and ends, in seconds since the epoch; None where nobody knows."""

    starts: float | None = None
    ends: float | None = None


def foresee(waiting: Sequence[Job], at_work: Sequence[Job], room: Room, seconds: Seconds, now: float) -> Mapping[str, ExpectedTimes]:
    """What is expected of every job, by its id; those behind a job of unknown length have no times, unless they need not wait for it."""
    ends = {job.id: _end(job, seconds, now) for job in at_work}
    expected = {job.id: ExpectedTimes(job.started, _finite_or_none(ends[job.id])) for job in at_work}
    busy, left, open_room = {job.id: job for job in at_work}, list(waiting), replace(room, paused=False)
    moment = math.inf if room.paused else now
    for _ in range(MOST_EVENTS):
        if not left or math.isinf(moment):
            break
        for turn in assign(left, list(busy.values()), open_room):
            if turn.fits:
                ends[turn.job.id] = moment + _seconds_or_infinity(seconds(turn.job))
                busy[turn.job.id] = turn.job.model_copy(update={"placed": turn.device})
                expected[turn.job.id] = ExpectedTimes(moment, _finite_or_none(ends[turn.job.id]))
        left = [job for job in left if job.id not in busy and job.id not in expected]
        moment = min((ends[name] for name in busy), default=math.inf)
        busy = {name: job for name, job in busy.items() if ends[name] > moment}
    return {job.id: ExpectedTimes() for job in waiting} | expected


def _end(job: Job, seconds: Seconds, now: float) -> float:
    """When a job at work ends: at its own pace where that shows, else as long after its start as such jobs take."""
    if job.seconds_left is not None:
        return now + job.seconds_left
    return max(now, (job.started or now) + _seconds_or_infinity(seconds(job)))


def _seconds_or_infinity(seconds: float | None) -> float:
    return math.inf if seconds is None else seconds


def _finite_or_none(moment: float) -> float | None:
    return None if math.isinf(moment) else moment
