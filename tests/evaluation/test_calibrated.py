"""Offline LiRA and quantile regression where how hard a record is, and what membership does to its score, is known."""

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.evaluation.attacks import auc, membership_result
from workbench.evaluation.calibrated import judged_by_quantiles, offline_ratio, shadow_halves

COUNT, SHADOWS, GAIN = 300, 16, 0.15  # members score e^-GAIN times what they would without membership


def drawn(generator: np.random.Generator, member: np.ndarray, difficulty: np.ndarray) -> np.ndarray:
    return np.exp(difficulty - GAIN * member + 0.1 * generator.standard_normal(member.shape))


def test_every_record_is_left_out_by_half_of_the_shadows() -> None:
    halves = shadow_halves(40, SHADOWS, 1)
    assert halves.shape == (SHADOWS, 40)
    assert (halves.sum(axis=1) == 20).all()
    assert (halves.sum(axis=0) == SHADOWS // 2).all()
    assert not np.array_equal(halves[0], halves[2])
    assert not np.array_equal(halves, shadow_halves(40, SHADOWS, 2))
    for count, shadows in ((40, 14), (40, 17), (41, 16)):
        with pytest.raises(WorkbenchError, match="an even number of shadows from 16"):
            shadow_halves(count, shadows, 1)


def test_lira_asks_what_is_to_be_expected_of_each_record_and_of_out_models_alone() -> None:
    generator = np.random.default_rng(0)
    difficulty = generator.standard_normal(2 * COUNT)  # ten times what membership does
    member = np.arange(2 * COUNT) < COUNT
    halves = shadow_halves(2 * COUNT, SHADOWS, 0)
    scores, shadow_scores = drawn(generator, member, difficulty), drawn(generator, halves, difficulty)
    ratio = offline_ratio(scores, shadow_scores, halves)
    assert auc(*np.split(scores, 2))[0] < 0.6
    assert auc(*np.split(ratio, 2))[0] > 0.8
    assert abs(ratio[~member].mean()) < 0.2
    assert 0.8 < ratio[~member].std() < 1.3
    np.testing.assert_array_equal(offline_ratio(scores, np.where(halves, 1e9, shadow_scores), halves), ratio)
    without = np.split(offline_ratio(drawn(generator, 0 * member, difficulty), shadow_scores, halves), 2)
    low, high = membership_result("lira", *without).interval
    assert low < 0.5 < high


def test_a_quantile_is_foretold_from_the_image_and_judged_on_others() -> None:
    generator = np.random.default_rng(1)
    images = generator.random((2 * COUNT, 4))
    member = np.arange(2 * COUNT) < COUNT
    scores = drawn(generator, 3 * member, 2 * images[:, 0])  # the image tells how hard it is
    sides = [(scores[side], images[side]) for side in (member, ~member)]
    attack = judged_by_quantiles(*sides, rates=(0.1,))
    assert attack.auc > auc(*np.split(scores, 2))[0] + 0.1
    assert (attack.score, attack.num_members, attack.num_nonmembers, attack.releasable) == ("quantile", COUNT, COUNT // 2, False)
    (point,) = attack.points
    assert point.fpr[1] <= 0.2
    assert point.tpr[0] > 3 * point.fpr[0]
    same = judged_by_quantiles((sides[1][0][::2], sides[1][1][::2]), (sides[1][0][1::2], sides[1][1][1::2]))
    assert same.interval[0] < 0.5 < same.interval[1]
    with pytest.raises(WorkbenchError, match="at least 40 members"):
        judged_by_quantiles((scores[:30], images[:30]), sides[1])
