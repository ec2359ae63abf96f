"""What a person may change about the queue: pause it, how many runs the CPU takes, which job comes when."""

import time
from collections.abc import Mapping
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import settings
from workbench.jobs.queue.passing import tend
from workbench.jobs.queue.settings import Settings
from workbench.jobs.registry import update
from workbench.workspace import Workspace

MOST_PRIORITY = 1000


def pause(workspace: Workspace) -> Settings:
    """Let nothing begin any more; what is at work goes on."""
    return _change_settings(workspace, {"paused": True})


def unpause(workspace: Workspace) -> Settings:
    """Let jobs begin again."""
    return _change_settings(workspace, {"paused": False})


def set_cpu_runs(workspace: Workspace, number: int) -> Settings:
    """Let so many runs share the CPU; those at work go on though they be more."""
    if not 1 <= number <= 1024:
        raise WorkbenchError(f"Expected 1 to 1024 runs at once on the CPU, got {number}.")
    return _change_settings(workspace, {"cpu_runs": number})


def set_priority(workspace: Workspace, job_id: str, priority: int) -> Job:
    """Put a waiting job behind all others of this priority; jobs of a higher one come first."""
    if abs(priority) > MOST_PRIORITY:
        raise WorkbenchError(f"Expected a priority of -{MOST_PRIORITY} to {MOST_PRIORITY}, got {priority}.")
    return Jobs(workspace).change(job_id, {"queued"}, "moved", priority=priority, turn=time.time())


def move(workspace: Workspace, job_id: str, place: int) -> Job:
    """Put a waiting job at a place of the queue, 1 for the next; it takes the priority of the one that it is put before, or behind."""
    jobs = Jobs(workspace)
    jobs.get(job_id)
    with jobs.database.transaction() as connection:
        waiting, _ = jobs.active_within(connection)
        job = next((one for one in waiting if one.id == job_id), None)
        if job is None:
            raise WorkbenchError(f"{job_id} cannot be moved: expected it to be queued, it is {jobs.within(connection, job_id).state}.")
        others = [one for one in waiting if one.id != job_id]
        if not 1 <= place <= len(waiting):
            raise WorkbenchError(f"Expected a place from 1 to {len(waiting)} in the queue, got {place}.")
        neighbour = others[min(place - 1, len(others) - 1)] if others else job
        ordered = [*others[: place - 1], job.model_copy(update={"priority": neighbour.priority}), *others[place - 1 :]]
        first = min(one.turn for one in ordered) - len(ordered)
        for number, one in enumerate(ordered):
            update(connection, "jobs", one.id, {"turn": first + number, "priority": one.priority})
        return jobs.within(connection, job_id)


def _change_settings(workspace: Workspace, values: Mapping[str, Any]) -> Settings:
    jobs = Jobs(workspace)
    jobs.database.prepare()
    with jobs.database.transaction() as connection:
        changed = Settings.model_validate(settings.stored_settings(connection).model_dump() | dict(values))
        settings.write(connection, changed)
    tend(workspace)
    return changed
