"""How long jobs are expected to take: trainings by the pace measured on this machine, else by runs alike; others by the last ones."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.places import needs_nothing
from workbench.runs.pace import expectation_of, known_pace
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.jobs.queue.forecast import Seconds
    from workbench.plan import Plan

RECENT = 5  # so many of the last ones say what one takes


def lengths(workspace: Workspace) -> "Seconds":
    """What takes a job and returns the seconds that it is expected to take from its start, None where nothing like it was seen.

    Of a training that goes on only the steps that are left count.
    """
    runs = RunStore(workspace)

    def seconds(job: Job) -> float | None:
        if not job.terms.trains:
            return None if needs_nothing(job) else of_task(workspace, job.task)  # it waits for others, however long they take
        run = runs.get(job.id)
        whole = of_plan(workspace, run.plan, run.performance, run.dataset, run.steps)
        return None if whole is None else whole * (1.0 - job.share)

    return seconds


def of_plan(workspace: Workspace, plan: "Plan", performance: Mapping[str, Any], dataset: str, steps: int) -> float | None:
    """The seconds that training a plan on `dataset` in so many steps is expected to take, None where nothing like it was seen."""
    paced = _seconds_by_pace(workspace, plan, performance)
    if paced is not None or not workspace.registry.exists():
        return paced
    runs = RunStore(workspace).alike(plan.method, dataset, steps, RECENT)
    return next((known for one in runs if (known := _seconds_of_run(one)) is not None), None)


def of_task(workspace: Workspace, task: str) -> float | None:
    """The seconds that a job of a task is expected to take, by the last ones; None where there was none."""
    return _usual(Jobs(workspace).last_done(task, RECENT))


def _seconds_by_pace(workspace: Workspace, plan: "Plan", performance: Mapping[str, Any]) -> float | None:
    """By the pace that was measured of its network on this machine; None where none was, or the plan no longer holds."""
    from workbench.training.state import PerformanceSettings

    try:
        pace = known_pace(workspace, plan, PerformanceSettings.model_validate(performance))
    except WorkbenchError:  # its worker says so
        return None
    return None if pace is None else expectation_of(plan, pace).seconds


def _seconds_of_run(run: Run) -> float | None:
    """How long a run took, or one at work takes at its pace so far."""
    if run.state == "done":
        return run.seconds_running
    left, so_far = run.seconds_left, run.seconds_running
    return None if left is None or so_far is None else so_far + left


def _usual(done: Sequence[Job]) -> float | None:
    times = [one.seconds_running for one in done if one.seconds_running is not None]
    return median(times) if times else None
