"""What a job is: work on a run or on samples that a process of its own does, and how far its life has come."""

import re
import time
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS, Handle

JobState = Literal["queued", "starting", "running", "paused", "cancelling", "cancelled", "done", "failed", "lost"]
STATES: tuple[JobState, ...] = get_args(JobState)
ACTIVE: frozenset[JobState] = frozenset({"queued", "starting", "running", "paused", "cancelling"})
AT_WORK: frozenset[JobState] = frozenset({"starting", "running", "cancelling"})
RESUMABLE: frozenset[JobState] = frozenset({"cancelled", "failed", "lost"})
STARTABLE: frozenset[JobState] = frozenset({"queued", "cancelled", "failed", "lost"})
ENDED: dict[JobState, str] = {"cancelled": "was cancelled", "failed": "has failed", "lost": "has died"}  # what becomes of a job, in words
WORKSPACE = ""  # the owner of a job that belongs to no run and no import
ID = re.compile(r"[a-z0-9]{8}")
STALE_SECONDS = 12.0  # a heartbeat older than this is stale, where the process cannot be asked
LAUNCH_SECONDS = 60.0  # a launch that has no process after this has failed


def check_id(job_id: str, noun: str = "job", listing: str = "workbench jobs") -> str:
    """Return `job_id` if it has the form of one; nothing else ever becomes part of a path."""
    if not ID.fullmatch(job_id):
        article = "an" if noun[0] in "aeiou" else "a"
        raise WorkbenchError(f"Expected {article} {noun} id of 8 lower-case letters and digits, got {job_id!r}. `{listing}` lists them.")
    return job_id


class Life(BaseModel):
    """Where a job stands; times are seconds since the epoch.

    `step` of `steps` is how far it is, in `stage`. `process` is the one that works on it, as its `launcher` tells it from others.
    `attempt` counts the processes that worked on it, the last from step `resumed_at` on; those before it took `seconds_before` seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    state: JobState
    stage: str = ""
    step: int = 0
    steps: int = 0
    launcher: str = "local"
    process: Handle | None = None
    attempt: int = 0
    resumed_at: int = 0
    heartbeat: float | None = None
    created: float
    started: float | None = None
    finished: float | None = None
    seconds_before: float = 0.0
    error: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether a process works, or is about to work, on it."""
        return self.state in ACTIVE

    @property
    def has_died(self) -> bool:
        """Whether it is at work by the registry, and no process works on it any more.

        Where the process can be asked, a living one is never lost, however old its heartbeat (a suspended computer); on another
        boot or in another container only the heartbeat speaks.
        """
        if self.state not in AT_WORK:
            return False
        silence = time.time() - (self.heartbeat or self.started or self.created)
        if self.process is None:
            return silence > LAUNCH_SECONDS
        launcher = LAUNCHERS.get(self.launcher)
        alive = None if launcher is None else launcher.is_alive(self.process)
        return silence > STALE_SECONDS if alive is None else not alive

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return min(1.0, self.step / self.steps) if self.steps else float(self.state == "done")

    @property
    def seconds_running(self) -> float | None:
        """Seconds from the first step of each attempt to its end or last heartbeat, over all attempts."""
        now = self.seconds_of_attempt
        return now if now is None else self.seconds_before + now

    @property
    def seconds_of_attempt(self) -> float | None:
        """The same of the last attempt alone."""
        end = self.finished or self.heartbeat
        return None if self.started is None or end is None else max(0.0, end - self.started)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the remaining steps take at the mean pace of this attempt; None if unknown."""
        elapsed, taken = self.seconds_of_attempt, self.step - self.resumed_at
        if self.state != "running" or not elapsed or taken <= 0:
            return None
        return elapsed * (self.steps - self.step) / taken


class Job(Life):
    """A job: its task (a name of `TASKS`), the run or import it belongs to (`WORKSPACE`: to none), and what is asked for.

    There is one of equal task, owner and request: whoever asks for the same again gets it, at work or ended.
    The job that trains a run has the run's id.
    """

    task: str
    owner: str
    request: dict[str, Any]
