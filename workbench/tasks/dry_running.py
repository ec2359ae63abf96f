"""A dry run as a job of its own: the Budget page and the command line begin it and find what it came to."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.heartbeat import Progress, StopSignal
from workbench.jobs.job import WORKSPACE, Job, Terms
from workbench.runs.dry_run import place_of
from workbench.tasks.base import Task, share_reporter
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan
    from workbench.training.state import PerformanceSettings

NAME = re.compile(r"[0-9a-f]{32}")


class DryRunning(Task):
    """Carries a plan out on drawn records; the request names the file of what it comes to, beside which the plan lies."""

    name: ClassVar[str] = "dry-run"
    terms: ClassVar[Terms] = Terms(title="dry run")

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """One name, of 32 hexadecimal digits: it becomes part of a path."""
        if owner != WORKSPACE or set(request) != {"dry_run"} or not NAME.fullmatch(str(request["dry_run"])):
            raise WorkbenchError(f"Expected the name of a dry run, 32 hexadecimal digits, of no run, got {dict(request)} of {owner!r}.")
        return dict(request)

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """From the beginning each time: nothing is spent that would have to be kept."""
        from workbench.runs.dry_run import carry_out

        self.announce(workspace, job, progress, stop)
        carry_out(workspace, job.request["dry_run"], share_reporter(progress, stop, job.steps))
        progress.step = job.steps
        return {"state": "done"}


DRY_RUNNING = DryRunning()


def request_of(workspace: Workspace, plan: "Plan", seed: int = 0) -> dict[str, str]:
    """What the job of this dry run is asked for."""
    return {"dry_run": place_of(workspace, plan, seed).stem}


def begin(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings", seed: int = 0) -> Job:
    """Have it carried out; all who ask for the same share one job. Returns at once."""
    from workbench.runs.dry_run import ask

    return DRY_RUNNING.begin(workspace, WORKSPACE, {"dry_run": ask(workspace, plan, performance, seed)})
