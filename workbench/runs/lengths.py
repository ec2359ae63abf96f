"""How long jobs are expected to take: trainings by the pace that this machine was measured at, all else by how long it took before."""

from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.lifecycle import Jobs
from workbench.runs.pace import expected, known_pace
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.jobs.queue.forecast import Seconds

RECENT = 5  # so many of the last jobs of a task say what one takes


def lengths(workspace: Workspace) -> "Seconds":
    """What takes a job and returns the seconds that it is expected to take from its start, None where nothing like it was seen.

    Of a training that goes on only the steps that are left count.
    """
    runs = RunStore(workspace)
    known = cache(runs.list)
    done_jobs = cache(lambda: [job for job in Jobs(workspace).all() if job.state == "done"])

    def seconds(job: Job) -> float | None:
        if not job.terms.trains:
            return _usual([one for one in done_jobs() if one.task == job.task][:RECENT])
        whole = _training(workspace, runs.get(job.id), known())
        return None if whole is None else whole * (1.0 - job.share)

    return seconds


def _training(workspace: Workspace, run: Run, known: Sequence[Run]) -> float | None:
    """By the measured pace of its network, else by the newest run of as many steps of its method on its dataset that is done or at work."""
    from workbench.training.state import PerformanceSettings

    try:
        pace = known_pace(workspace, run.plan, PerformanceSettings.model_validate(run.performance))
        if pace is not None:
            return expected(run.plan, pace).seconds
    except WorkbenchError:  # a plan that no longer holds: its worker says so
        return None
    alike = [one for one in known if (one.method, one.dataset, one.steps) == (run.method, run.dataset, run.steps)]
    return next((seconds for one in alike if (seconds := _whole(one)) is not None), None)


def _whole(run: Run) -> float | None:
    """How long a run took, or one at work takes at its pace so far."""
    if run.state == "done":
        return run.seconds_running
    left, so_far = run.seconds_left, run.seconds_running
    return None if left is None or so_far is None else so_far + left


def _usual(done: Sequence[Job]) -> float | None:
    times = [one.seconds_running for one in done if one.seconds_running is not None]
    return median(times) if times else None
