"""The measurement of an audited run, attacks on membership, and PAC audits."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import WorkbenchError
from workbench.jobs.job import Terms
from workbench.runs.pac_request import PacRequest
from workbench.seeds import Seed
from workbench.tasks.base import Report, RequestedTask
from workbench.workspace import Workspace

LEAST_SHADOWS, MOST_SHADOWS = 16, 1024  # each takes as long as the run


class Attack(BaseModel):
    """By which score, the seed of records, noise and thresholds, and of how many shadow models, where the score takes any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str = "loss"
    seed: Seed = 0
    shadows: int | None = Field(default=None, ge=LEAST_SHADOWS, le=MOST_SHADOWS, multiple_of=2)


class EmptyRequest(BaseModel):
    """What an audit is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Audit(RequestedTask[EmptyRequest]):
    """Scores a finished run's canaries and keeps the lower bound that follows. All of it was fixed before training: nothing is asked."""

    name: ClassVar[str] = "audit"
    terms: ClassVar[Terms] = Terms(title="audit")
    Request = EmptyRequest

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or has no canaries."""
        from workbench.runs.audits import design_of
        from workbench.runs.trained import trained_run

        design_of(trained_run(workspace, owner))
        if request:
            raise WorkbenchError(f"Expected nothing asked of an audit, which was fixed before training, got {dict(request)}.")
        return {}

    def carry_out(self, workspace: Workspace, owner: str, request: EmptyRequest, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.audits import audit_run

        audit_run(workspace, owner, report)


class Pac(RequestedTask[PacRequest]):
    """Trains a finished run's plan on random halves of its records, and determines the noise that its samples would need."""

    name: ClassVar[str] = "pac"
    terms: ClassVar[Terms] = Terms(title="PAC audit")
    Request = PacRequest

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or whose records are no images."""
        from workbench.runs.pac_audits import check_pac

        check_pac(workspace, owner)
        return self.parse_request(request).model_dump(mode="json")

    def carry_out(self, workspace: Workspace, owner: str, request: PacRequest, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.pac_audits import pac_run

        pac_run(workspace, owner, request, report)


class Membership(RequestedTask[Attack]):
    """Tells a finished run's training records from held-out ones by its model."""

    name: ClassVar[str] = "membership"
    terms: ClassVar[Terms] = Terms(title="attack on membership")
    Request = Attack

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or tells nothing of its model, and an unknown score."""
        from workbench.runs.memberships import check_attack

        typed_request = self.parse_request(request)
        check_attack(workspace, owner, typed_request.score)
        if typed_request.shadows is not None and typed_request.score != "lira":
            raise WorkbenchError(f"Expected shadows beside the score lira alone, got {typed_request.shadows} beside {typed_request.score}.")
        whole = typed_request.model_dump(mode="json")
        return {name: value for name, value in whole.items() if name != "shadows" or typed_request.score == "lira"}

    def carry_out(self, workspace: Workspace, owner: str, request: Attack, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.memberships import SHADOWS, membership_run

        membership_run(workspace, owner, request.score, request.seed, report, request.shadows or SHADOWS)
