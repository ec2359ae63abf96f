"""What jobs do: a task is a class on `Task` and a line below. Everything else about a job is the same for all of them."""

from workbench.jobs.tasks.auditing import Audit, Membership, Pac
from workbench.jobs.tasks.background import Example, Rehearse
from workbench.jobs.tasks.base import Task
from workbench.jobs.tasks.exposing import Expose, Remove
from workbench.jobs.tasks.measuring import Copies, Evaluate, Neighbours, Sample
from workbench.jobs.tasks.train import Train

__all__ = ["TASKS", "Task"]

TASKS: dict[str, Task] = {
    "train": Train(),
    "sample": Sample(),
    "evaluate": Evaluate(),
    "neighbours": Neighbours(),
    "copies": Copies(),
    "records": Expose(),
    "audit": Audit(),
    "membership": Membership(),
    "pac": Pac(),
    "removal": Remove(),
    "example": Example(),
    "rehearse": Rehearse(),
}
