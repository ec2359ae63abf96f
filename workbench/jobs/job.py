"""What a job is: work on a run or on samples that a process of its own does, and how far its life has come."""

import re
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import WorkbenchError
from workbench.files import make_private_folder
from workbench.jobs.launchers.base import DEFAULT, Handle, Resources
from workbench.workspace import Workspace

JobState = Literal["queued", "pending", "starting", "running", "paused", "cancelling", "cancelled", "done", "failed", "lost"]
STATES: tuple[JobState, ...] = get_args(JobState)
ACTIVE: frozenset[JobState] = frozenset({"queued", "pending", "starting", "running", "paused", "cancelling"})
WAITING: frozenset[JobState] = frozenset({"queued", "paused"})  # active, and without a process
AT_WORK: frozenset[JobState] = frozenset({"pending", "starting", "running", "cancelling"})  # with its launcher
RESUMABLE: frozenset[JobState] = frozenset({"paused", "cancelled", "failed", "lost"})
STARTABLE: frozenset[JobState] = frozenset({"queued", *RESUMABLE})
DONE: frozenset[JobState] = frozenset({"done"})
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
    Waiting jobs go by `priority`, the highest first, then by `turn`, the lowest first. `placed` is the device that a job was given.
    A `pending` one waits in the line of its launcher's engine, for the `reason` that the engine gives.
    A `paused` one lacked room on the disk, as `error` says; it goes on once the home has room for `bytes_needed`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    state: JobState
    stage: str = ""
    step: int = 0
    steps: int = 0
    priority: int = 0
    turn: float = 0.0
    launcher: str = DEFAULT
    reason: str = ""
    placed: str = ""
    process: Handle | None = None
    attempt: int = 0
    resumed_at: int = 0
    heartbeat: float | None = None
    created: float
    started: float | None = None
    finished: float | None = None
    seconds_before: float = 0.0
    error: str | None = None
    bytes_needed: int = 0

    @property
    def is_active(self) -> bool:
        """Whether a process works on it, or will without anybody's word."""
        return self.state in ACTIVE

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return min(1.0, self.step / self.steps) if self.steps else float(self.state == "done")

    @property
    def seconds_running(self) -> float | None:
        """Seconds from the first step of each attempt to its end or last heartbeat, over all attempts."""
        now = self.seconds_of_attempt
        return self.seconds_before or None if now is None else self.seconds_before + now

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


class Terms(BaseModel):
    """What the engine has to know of a job's task: it knows none by name. Kept in the job's row.

    `title` is what the job is called, as in "the evaluation was cancelled". `steps` is what its progress counts to (100 of a job
    that reports shares). After `grace_seconds` a cancelled process is killed. `repeatable`: one that is done may be done again,
    should what it made be gone. `niceness` is how far its process stands behind others. `death` says what a process leaves that
    ended without a word. `trains`: its log and lock lie in the folder of the run that it makes.

    What it needs: `device` is cpu, cuda (any GPU) or cuda:N. A job on the CPU with a `cpu_share` of 1 takes the place of a run, one
    with less takes that much of the room beside the runs, one with 0 takes none and never waits. `memory` is its peak in bytes, 0
    where that is not known. `asked` is what an engine is asked for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    steps: int = 100
    grace_seconds: float = 10.0
    repeatable: bool = True
    niceness: int = 0
    trains: bool = False
    device: str = "cpu"
    cpu_share: float = Field(default=0.5, ge=0, le=1)
    memory: int = Field(default=0, ge=0)
    asked: Resources = Resources()
    death: str = "Its process ended without a word; what it had kept is there for another attempt."


class Job(Life):
    """A job: its task by name, the run or import it belongs to (`WORKSPACE`: to none), what is asked for, and its task's terms.

    There is one of equal task, owner and request: whoever asks for the same again gets it, at work or ended.
    The job that trains a run has the run's id.
    """

    task: str
    owner: str
    request: dict[str, Any]
    terms: Terms

    @property
    def startable(self) -> frozenset[JobState]:
        """The states from which it may be started."""
        return STARTABLE | DONE if self.terms.repeatable else STARTABLE

    def folder(self, workspace: Workspace) -> Path:
        """Where its log and lock lie; made if it is not there, but for a run's, which is made with the run."""
        if self.terms.trains:
            return workspace.runs / self.id
        folder = workspace.jobs / self.id
        make_private_folder(folder)
        return folder
