"""Judging scores of membership: values against an independent implementation, thresholds that the judged records did not fix."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from workbench.errors import WorkbenchError
from workbench.evaluation.attacks import auc, membership_result, roc, roc_figure


def scores(shift: float, count: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.normal(-shift, 1, count), draw.normal(0, 1, count)


def test_the_auc_is_the_share_of_pairs_in_order() -> None:
    members, nonmembers = np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 3.0, 4.0])
    assert auc(members, nonmembers)[0] == pytest.approx((3 + 2.5 + 2.5 + 0) / 12)
    members, nonmembers = (np.round(side, 1) for side in scores(0.5))
    truth = np.r_[np.ones(4000), np.zeros(4000)]
    assert auc(members, nonmembers)[0] == pytest.approx(roc_auc_score(truth, -np.r_[members, nonmembers]))


def test_its_interval_covers_the_truth_as_often_as_it_says() -> None:
    truth = norm.cdf(0.5 / 2**0.5)
    intervals = [membership_result("x", *scores(0.5, 100, seed), seed).interval for seed in range(300)]
    assert 0.92 < np.mean([low <= truth <= high for low, high in intervals]) < 0.98


def test_thresholds_come_from_other_records_than_those_judged() -> None:
    members, nonmembers = scores(2.0)
    attack = membership_result("x", members, nonmembers)
    strict, stricter = attack.points
    assert strict.fpr[0] == pytest.approx(0.01, abs=0.008)
    assert strict.tpr[0] == pytest.approx(norm.cdf(norm.ppf(0.01) + 2), abs=0.15)
    assert stricter.tpr[0] < strict.tpr[0]
    half = np.random.default_rng(0).permutation(4000)
    assert strict.threshold is not None
    assert (nonmembers[half[:2000]] <= strict.threshold).mean() <= 0.01
    changed = nonmembers.copy()
    changed[half[2000:]] += 100  # only those that are judged
    assert membership_result("x", members, changed).points[0].threshold == strict.threshold
    assert membership_result("x", members, changed).points[0].fpr[0] == 0
    few = membership_result("x", members[:20], nonmembers[:20]).points[1]
    assert (few.threshold, few.tpr[0]) == (None, 0.0)
    assert few.tpr[2] > 0.1
    with pytest.raises(WorkbenchError, match="at least 4"):
        membership_result("x", members[:3], nonmembers)


def test_the_curve_rises_from_corner_to_corner_and_is_drawn_on_log_axes() -> None:
    members, nonmembers = scores(1.0)
    points = np.array(roc(members, nonmembers))
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert (np.diff(points, axis=0) >= 0).all()
    assert len(points) <= 401
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(auc(members, nonmembers)[0], abs=0.01)
    figure = roc_figure([membership_result("loss", members, nonmembers)])
    drawn = figure.to_dict()
    assert (drawn["layout"]["xaxis"]["type"], drawn["layout"]["yaxis"]["type"]) == ("log", "log")
    assert "loss" in drawn["data"][0]["name"]
