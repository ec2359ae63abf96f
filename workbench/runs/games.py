"""The white-box membership game of dp-promise's Definition 4 on a finished run."""

import math
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import DamagedFileError, choose
from workbench.evaluation.membership import SCORES, Report, ignore_progress
from workbench.evaluation.membership_game import GameResult, most_advantage, play
from workbench.files import write_text_atomically
from workbench.runs.folder import RunFolder
from workbench.runs.memberships import check_attack
from workbench.runs.run import Run
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, load_state, trained_run
from workbench.seeds import Seed
from workbench.serialization import dumps
from workbench.workspace import Workspace

MOST_GAMES = 1_000_000


class GameRequest(BaseModel):
    """By which score, how many games, and the seed of coins, records and noise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str = "loss"
    games: int = Field(default=200, ge=1, le=MOST_GAMES)
    seed: Seed = 0


def game_run(workspace: Workspace, run_id: str, request: GameRequest, report: Report = ignore_progress) -> GameResult:
    """Play on a run's model: training records against held-out ones, which stand for the distribution; private, kept beside the run."""
    path = RunFolder(workspace, run_id).path / f"game-{request.score}-{request.games}-{request.seed}.json"
    score = choose(request.score, SCORES, "score of the game")
    method, run = check_attack(workspace, run_id, request.score), trained_run(workspace, run_id)
    if path.exists():
        return _read(path)
    dataset, draw = dataset_of(workspace, run), np.random.default_rng([request.seed, 1])
    members = dataset.train.take(draw.permutation(len(dataset.train))[: request.games])
    with few_threads():
        denoiser = method.denoiser(load_state(workspace, run, seed=0))
        first = score(denoiser, members, request.seed, lambda share: report(share / 2))
        second = score(denoiser, dataset.held_out, request.seed, lambda share: report((1 + share) / 2))
    result = play(request.score, first, second, request.games, request.seed, left_by_bound(run))
    write_text_atomically(path, dumps(result, indent=2))
    return result


def kept_games(workspace: Workspace, run_id: str) -> list[GameResult]:
    """The games that were played on a run's model, by score."""
    return [_read(path) for path in sorted(RunFolder(workspace, run_id).path.glob("game-*.json"))]


def _read(path: Path) -> GameResult:
    try:
        return GameResult.model_validate_json(path.read_text())
    except ValidationError:
        raise DamagedFileError(f"Expected the result of a game in {path}, got a damaged file. Move it away: it is played anew.") from None


def left_by_bound(run: Run) -> float | None:
    """The largest advantage that the run's bound leaves: of one record or another, or twice that of a record or none."""
    values = [run.bound, *([] if run.replace_one is None else [run.replace_one])]
    steps = {"REPLACE_ONE": 1, "REPLACE_SPECIAL": 2, "ADD_OR_REMOVE_ONE": 2}
    most = [
        steps[value.neighboring_relation] * most_advantage(value.epsilon, value.delta) for value in values if math.isfinite(value.epsilon)
    ]
    return min(1.0, *most) if most else None
