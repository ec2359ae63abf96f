"""The membership game on a finished run: its own records against held-out ones, each shown once, beside what the bound leaves."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench.cli import main
from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.evaluation.membership import SCORES
from workbench.evaluation.membership_game import most_advantage
from workbench.models.denoising import Denoiser
from workbench.plan import Plan
from workbench.records import Records
from workbench.runs.games import GameRequest, game_run, left_by_bound
from workbench.runs.run import Run


def small_for_training_records(_denoiser: Denoiser, records: Records, *_seed_and_report: Any) -> np.ndarray:
    """The score of an adversary who knows every training record."""
    known = {record.tobytes() for record in load("digits").train.records}
    return np.array([-1.0 if record.tobytes() in known else 0.0 for record in records.records])


def test_a_game_on_a_run_says_what_its_bound_leaves(
    quick_plan: Callable[..., Plan], train_here: Callable[..., Run], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train_here(quick_plan("dp-promise"))
    with monkeypatch.context() as known:
        known.setitem(SCORES, "all-knowing", small_for_training_records)
        assert game_run(here(), run.id, GameRequest(score="all-knowing", games=100)).right == 100
    game = game_run(here(), run.id, GameRequest(games=100, seed=3))
    assert game.interval[0] <= 0 <= game.interval[1], "two steps teach nothing"
    assert run.replace_one is None
    assert run.bound.neighboring_relation == "REPLACE_SPECIAL"
    assert game.most == 2 * most_advantage(run.bound.epsilon, run.delta), "from a record to none, and from none to another one"
    assert left_by_bound(train_here(quick_plan("nonprivate"))) is None
    for values, most in (({"neighboring_relation": "ADD_OR_REMOVE_ONE"}, game.most), ({"epsilon": 5.0}, 1.0)):
        assert left_by_bound(run.model_copy(update={"bound": run.bound.model_copy(update=values)})) == most
    assert game == game_run(here(), run.id, GameRequest(games=100, seed=3))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["game", run.id, "--games", "100", "--seed", "3", "--json"])
    assert json.loads(capsys.readouterr().out)["right"] == game.right
    with pytest.raises(WorkbenchError, match="each once"):
        game_run(here(), run.id, GameRequest(games=400))
    with pytest.raises(WorkbenchError, match=r"Unknown score of the game 'lira'\. Choose one of: loss, secmi, pia"):
        game_run(here(), run.id, GameRequest(score="lira"))
    other = train_here(quick_plan())
    assert other.replace_one is not None
    assert left_by_bound(other) == most_advantage(other.replace_one.epsilon, other.delta), "less than twice that of a record made null"
    with pytest.raises(WorkbenchError, match="what its model predicts"):
        game_run(here(), other.id, GameRequest())
