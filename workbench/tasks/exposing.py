"""Tasks about a run's training records: what its samples show of each, and what leaving the most exposed out does."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.jobs.job import Terms
from workbench.runs.run import Run
from workbench.seeds import Seed
from workbench.tasks.base import Report, RequestedTask
from workbench.workspace import Workspace


class Draws(BaseModel):
    """By how many chains of the ideal denoiser, and their seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_draws: int = Field(default=400, ge=2, le=100_000)
    seed: Seed = 0


class Removal(BaseModel):
    """Which share of the records is left out, how often it is trained, and by how many chains the records are ranked."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    share: float = Field(default=0.05, gt=0, le=0.5)
    seeds: int = Field(default=3, ge=1, le=100)
    num_draws: int = Field(default=400, ge=2, le=100_000)


R = TypeVar("R", bound=BaseModel)


class OnRecords(RequestedTask[R]):
    """A task about the training records of a finished run whose method has values per record."""

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The whole request; refuses a run that is not finished or whose method has no values per record."""
        from workbench.runs.exposure import checked_run

        typed_request = self.parse_request(request)
        run, _ = checked_run(workspace, owner)
        self.check_run(run, typed_request)
        return typed_request.model_dump(mode="json")

    def check_run(self, run: Run, request: R) -> None:
        """Refuse what cannot be done with this run."""


class Expose(OnRecords[Draws]):
    """Estimates what samples show of every training record."""

    name: ClassVar[str] = "records"
    terms: ClassVar[Terms] = Terms(title="view of the records")
    Request = Draws

    def carry_out(self, workspace: Workspace, owner: str, request: Draws, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.exposure import expose_run

        expose_run(workspace, owner, request.num_draws, request.seed, report)


class Remove(OnRecords[Removal]):
    """Trains without the most exposed records, and without as many at random."""

    name: ClassVar[str] = "removal"
    terms: ClassVar[Terms] = Terms(title="removal experiment")
    Request = Removal

    def check_run(self, run: Run, request: Removal) -> None:
        """A share of no record."""
        from workbench.runs.removal import check_share

        check_share(run, request.share)

    def carry_out(self, workspace: Workspace, owner: str, request: Removal, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.removal import remove_run

        remove_run(workspace, owner, request.share, request.seeds, request.num_draws, report)
