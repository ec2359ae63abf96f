"""The membership game of dp-promise's Definition 4: coins, records shown once, and what guessing and a perfect attack reach."""

import math

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.evaluation.membership_game import most_advantage, play


def test_an_adversary_who_sees_nothing_is_right_half_of_the_time() -> None:
    draw = np.random.default_rng(0)
    games = [play("x", draw.normal(size=400), draw.normal(size=800), 400, seed) for seed in range(40)]
    assert np.mean([game.advantage for game in games]) == pytest.approx(0.0, abs=0.02)
    assert np.mean([game.interval[0] <= 0 <= game.interval[1] for game in games]) >= 0.9
    assert all(game.advantage == 2 * game.right / 400 - 1 for game in games)


def test_one_who_knows_every_member_is_wrong_about_others_below_the_median_alone() -> None:
    draw = np.random.default_rng(1)
    game = play("x", np.full(600, -9.0), draw.normal(size=1200), 600, 3)
    assert game.right == pytest.approx(0.75 * 600, abs=40)
    assert game.interval[0] > 0.3
    assert play("x", np.full(600, 9.0), draw.normal(size=1200), 600, 3).advantage < -0.3, "large scores speak against a member"


def test_every_record_is_shown_at_most_once() -> None:
    with pytest.raises(WorkbenchError, match="enough to show each once in 100 games"):
        play("x", np.zeros(20), np.zeros(400), 100)
    with pytest.raises(WorkbenchError, match="got 400 and 30"):
        play("x", np.zeros(400), np.zeros(60), 100)


def test_the_rule_is_fixed_by_records_that_are_not_shown() -> None:
    """Of others that are all alike none is below the median of the known half."""
    game = play("x", np.full(50, -1.0), np.zeros(100), 40, 5, most=0.5)
    assert (game.right, game.most) == (40, 0.5)


def test_no_advantage_is_left_at_epsilon_0_and_all_of_it_at_infinity() -> None:
    assert most_advantage(0.0, 0.0) == 0.0
    assert most_advantage(800.0, 0.0) == 1.0
    assert most_advantage(0.0, 0.1) == pytest.approx(0.1)
    assert most_advantage(1.0, 1e-5) == pytest.approx((math.e - 1 + 2e-5) / (math.e + 1))
