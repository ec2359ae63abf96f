"""What jobs do: a task is a class on `Task` and a line below. Everything else about a job is the same for all of them."""

from collections.abc import Mapping
from typing import Any

from workbench.errors import choose
from workbench.jobs.job import Job
from workbench.tasks.attacking import Game, Leak, Refute
from workbench.tasks.auditing import Audit, Membership, Pac
from workbench.tasks.base import Task
from workbench.tasks.counting import CountVotes
from workbench.tasks.dry_running import DRY_RUNNING
from workbench.tasks.example import EXAMPLE
from workbench.tasks.exposing import Expose, Remove
from workbench.tasks.measuring import Copies, Evaluate, NearestSamples, Neighbours, Sample
from workbench.tasks.rehearsing import REHEARSE
from workbench.tasks.sweeping import SWEEPING
from workbench.tasks.train import Train
from workbench.workspace import Workspace

__all__ = ["TASKS", "Task", "begin", "find"]

ALL: tuple[Task, ...] = (
    Train(),
    Sample(),
    Evaluate(),
    Neighbours(),
    Copies(),
    NearestSamples(),
    Expose(),
    CountVotes(),
    Audit(),
    Membership(),
    Pac(),
    Game(),
    Leak(),
    Refute(),
    Remove(),
    EXAMPLE,
    REHEARSE,
    DRY_RUNNING,
    SWEEPING,
)
TASKS: dict[str, Task] = {task.name: task for task in ALL}


def find(workspace: Workspace, task: str, owner: str, request: Mapping[str, Any]) -> Job | None:
    """The job of this request, or None; the request is checked first."""
    return _task_of(task).find(workspace, owner, request)


def begin(workspace: Workspace, task: str, owner: str, request: Mapping[str, Any]) -> Job:
    """The job of this request, submitted unless it waits or is at work: two pages that ask for the same share one. Returns at once."""
    return _task_of(task).begin(workspace, owner, request)


def _task_of(task: str) -> Task:
    choose(task, TASKS, "task")
    return TASKS[task]
