"""The task that reads a finished run's true votes, for whoever holds the records."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from workbench.jobs.job import Terms
from workbench.tasks.base import Report, RequestedTask
from workbench.workspace import Workspace


class NoSettings(BaseModel):
    """Delta is the plan's: nothing can be chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CountVotes(RequestedTask[NoSettings]):
    """Says what PATE's data-dependent analysis gives by the true votes."""

    name: ClassVar[str] = "votes"
    terms: ClassVar[Terms] = Terms(title="view of the votes")
    Request = NoSettings

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished, or whose method has no such analysis."""
        from workbench.runs.vote_gaps import checked

        checked(workspace, owner)
        return self.parse_request(request).model_dump(mode="json")

    def carry_out(self, workspace: Workspace, owner: str, request: NoSettings, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.vote_gaps import votes_run

        votes_run(workspace, owner)
