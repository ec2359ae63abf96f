"""The membership game on a finished run: its own records against held-out ones, each shown once, beside what the bound leaves."""

import json
from collections.abc import Callable

import pytest
from support.homes import here

from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.evaluation.membership_game import most_advantage
from workbench.jobs.games import GameRequest, game_run, replace_one
from workbench.jobs.run import Run
from workbench.plan import Plan


def test_a_game_on_a_run_says_what_its_bound_leaves(
    quick_plan: Callable[..., Plan], train_here: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    run = train_here(quick_plan("dp-promise"))
    found = game_run(here(), run.id, GameRequest(games=100, seed=3))
    assert found.interval[0] <= 0 <= found.interval[1], "two steps teach nothing"
    known = replace_one(run)
    assert found.most == (None if known is None else most_advantage(*known))
    assert found == game_run(here(), run.id, GameRequest(games=100, seed=3))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["game", run.id, "--games", "100", "--seed", "3", "--json"])
    assert json.loads(capsys.readouterr().out)["right"] == found.right
    with pytest.raises(WorkbenchError, match="each once"):
        game_run(here(), run.id, GameRequest(games=400))
    with pytest.raises(WorkbenchError, match=r"Unknown score of the game 'lira'\. Choose one of: loss, secmi, pia"):
        game_run(here(), run.id, GameRequest(score="lira"))
    other = train_here(quick_plan())
    assert other.replace_one is not None
    assert replace_one(other) == (other.replace_one.epsilon, other.delta), "not the bound of a record made null, which is smaller"
    with pytest.raises(WorkbenchError, match="what its model predicts"):
        game_run(here(), other.id, GameRequest())
