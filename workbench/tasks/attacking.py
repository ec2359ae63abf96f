"""The membership game, what samples show over a setting, and attacks on papers' claims, each kept where it is looked for again."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import WorkbenchError, choose
from workbench.jobs.job import WORKSPACE, Terms
from workbench.seeds import Seed
from workbench.tasks.base import Report, RequestedTask
from workbench.workspace import Workspace


class Games(BaseModel):
    """By which score, how many games, and the seed of coins, records and noise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str = "loss"
    games: int = Field(default=200, ge=1, le=1_000_000)
    seed: Seed = 0


class Game(RequestedTask[Games]):
    """Plays the membership game of dp-promise's Definition 4 on a finished run's model."""

    name: ClassVar[str] = "game"
    terms: ClassVar[Terms] = Terms(title="membership game")
    Request = Games

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or tells nothing of its model, and an unknown score."""
        from workbench.evaluation.membership import SCORES
        from workbench.runs.memberships import check_attack

        typed_request = self.parse_request(request)
        choose(typed_request.score, SCORES, "score of the game")
        check_attack(workspace, owner, typed_request.score)
        return typed_request.model_dump(mode="json")

    def carry_out(self, workspace: Workspace, owner: str, request: Games, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.games import GameRequest, game_run

        game_run(workspace, owner, GameRequest(**request.model_dump()), report)


class LeakageRequest(BaseModel):
    """What varies, at which epsilon, for how many samples, by how many chains of the ideal denoiser and their seed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    over: str
    epsilon: float = Field(default=1.0, gt=0, le=1e6)
    num_samples: int = Field(default=1, ge=1)
    num_draws: int = Field(default=400, ge=2, le=100_000)
    seed: Seed = 0


class Leak(RequestedTask[LeakageRequest]):
    """Tells how what samples show of the records varies with the decay, the samples, the release step or the records."""

    name: ClassVar[str] = "leakage"
    terms: ClassVar[Terms] = Terms(title="leakage over a setting")
    Request = LeakageRequest

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a run that is not finished or has no values per record, and an unknown way to vary."""
        from workbench.runs.exposure import checked_run
        from workbench.runs.leakage import OVER

        typed_request = self.parse_request(request)
        choose(typed_request.over, OVER, "way to vary")
        checked_run(workspace, owner)
        return typed_request.model_dump(mode="json")

    def carry_out(self, workspace: Workspace, owner: str, request: LeakageRequest, report: Report) -> None:
        """Kept in the run's folder."""
        from workbench.runs.leakage import OVER, leakage_run

        leakage_run(workspace, owner, OVER[request.over], request.epsilon, request.num_samples, request.num_draws, request.seed, report)


class Trials(BaseModel):
    """Which claim, how many runs with the record and as many without it, the confidence of the lower bound, and the seed of all runs."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    trials: int = Field(default=2000, ge=2, le=1_000_000)
    confidence: float = Field(default=0.99, ge=0.5, le=0.9999)
    seed: Seed = 0


class Refute(RequestedTask[Trials]):
    """Attacks what an unproved claim covers by many small runs on made records; it belongs to no run."""

    name: ClassVar[str] = "caught"
    terms: ClassVar[Terms] = Terms(title="attack on a claim")
    Request = Trials

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Refuses a claim that no attack is known on, and an owner."""
        from workbench.evaluation.refuting import ATTACKS

        if owner != WORKSPACE:
            raise WorkbenchError(f"Expected no run or import, got {owner}: an attack on a claim belongs to none.")
        typed_request = self.parse_request(request)
        choose(typed_request.name, ATTACKS, "attacked claim")
        return typed_request.model_dump(mode="json")

    def carry_out(self, workspace: Workspace, owner: str, request: Trials, report: Report) -> None:
        """Kept in the home's folder of attacks."""
        del owner
        from workbench.runs.refuted import caught_here

        caught_here(workspace, request.name, request.trials, request.confidence, request.seed, report)
