"""The measurement of a plan's pace as a job of its own; pages look for what it finds and never wait."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs.job import WORKSPACE, Job, Terms
from workbench.runs.pace import place_of
from workbench.tasks.background import NICENESS, Background
from workbench.tasks.base import Report
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan
    from workbench.training.state import PerformanceSettings

PACE = re.compile(r"[0-9a-f]{32}")


class Rehearse(Background):
    """Measures the pace of a plan's network; the request names the file that it is kept in, beside which the plan lies."""

    name: ClassVar[str] = "rehearse"
    terms: ClassVar[Terms] = Terms(title="measurement of the pace", niceness=NICENESS, cpu_share=0)

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """One name, of 32 hexadecimal digits: it becomes part of a path."""
        if set(request) != {"pace"} or not PACE.fullmatch(str(request["pace"])):
            raise WorkbenchError(f"Expected the name of a pace, 32 hexadecimal digits, got {dict(request)}.")
        return super().check(workspace, owner, request)

    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """No record of any dataset is touched."""
        from workbench.runs.rehearsal import rehearse

        rehearse(workspace, job.request["pace"], waited)


REHEARSE = Rehearse()


def find_job(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings") -> Job | None:
    """The job that measures what `plan` needs, at work or ended, or None."""
    return REHEARSE.find(workspace, WORKSPACE, {"pace": place_of(workspace, plan, performance).stem})


def begin(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings") -> Job:
    """Have measured what `plan` needs; plans that need the same share one job. Returns at once."""
    from workbench.runs.rehearsal import ask

    return REHEARSE.begin(workspace, WORKSPACE, {"pace": ask(workspace, plan, performance)})
