"""Membership scores held against what is to be expected of each record: offline LiRA by shadow models, and quantile regression.

A score says as much about a record as about whether it took part. Both attacks ask how small the score is for this record: LiRA of models
that it took no part in (Carlini et al. 2022, section V), quantile regression of other non-members with such an image (Bertran et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.errors import WorkbenchError
from workbench.evaluation.attacks import RATES, MembershipResult, OperatingPoint, auc, roc
from workbench.evaluation.intervals import normal
from workbench.privacy.attacks.audit import Rate, rates_at_threshold

LEAST_SHADOWS = 16
LEAST_LEAF = 10
MEDIAN = 0.5


def shadow_halves(count: int, shadows: int, seed: int) -> np.ndarray:
    """Which of `count` records each of `shadows` models is trained on, bool (shadows, count): half of them, complements in turn.

    So that every record is left out by half of the models.
    """
    if shadows < LEAST_SHADOWS or shadows % 2 or count % 2:
        raise WorkbenchError(f"Expected an even number of shadows from {LEAST_SHADOWS} and of records, got {shadows} and {count}.")
    draw, halves = np.random.default_rng([seed, 2]), np.zeros((shadows, count), bool)
    for pair in range(0, shadows, 2):
        halves[pair, draw.permutation(count)[: count // 2]] = True
        halves[pair + 1] = ~halves[pair]
    return halves


def offline_ratio(scores: np.ndarray, shadow_scores: np.ndarray, took_part: np.ndarray) -> np.ndarray:
    """(log score - mu_out) / sigma_out of every record (N,), which Phi of it orders alike; `shadow_scores` and `took_part` (shadows, N).

    mu_out is of the record's own out-models. sigma_out is pooled over records, as Carlini et al. do with fewer than 64 models. Logarithms
    make scores that are errors, and so positive, of one spread.
    """
    out = np.ma.masked_array(_logarithm(shadow_scores), took_part)
    deviation = float(np.sqrt(out.var(axis=0, ddof=1).mean()))
    return (_logarithm(scores) - out.mean(axis=0).data) / max(deviation, np.finfo(float).tiny)


def judged_by_quantiles(
    members: tuple[np.ndarray, np.ndarray], nonmembers: tuple[np.ndarray, np.ndarray], seed: int = 0, rates: Sequence[float] = RATES
) -> MembershipResult:
    """A member is who scores below the quantile, at the false-positive rate aimed at, that a regression foretells from its image.

    Both sides are scores (N,) and images (N, D). A half of the non-members, drawn by `seed`, is what the regressions learn from; all that
    is told is of the others. A point's threshold is 0: of the score less its quantile. AUC and curve are of the score less its median.
    """
    if min(len(members[0]), len(nonmembers[0])) < 4 * LEAST_LEAF:
        raise WorkbenchError(f"Expected at least {4 * LEAST_LEAF} members and non-members, got {len(members[0])} and {len(nonmembers[0])}.")
    order = np.random.default_rng(seed).permutation(len(nonmembers[0]))
    learning, judging = ((nonmembers[0][half], nonmembers[1][half]) for half in np.split(order, [len(order) // 2]))
    above = {rate: _above(rate, learning, (members, judging), seed) for rate in (*rates, MEDIAN)}
    value, error = auc(*above[MEDIAN])
    interval = normal(value, error, 0.0, 1.0)
    assert interval is not None
    return MembershipResult(
        score="quantile",
        num_members=len(members[0]),
        num_nonmembers=len(judging[0]),
        auc=value,
        interval=interval,
        points=tuple(_point(rate, rates_at_threshold(*above[rate], 0.0)) for rate in rates),
        roc=roc(*above[MEDIAN]),
    )


def _above(
    rate: float, learning: tuple[np.ndarray, np.ndarray], sides: Sequence[tuple[np.ndarray, np.ndarray]], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """By how much the log scores of both sides lie above the quantile that is foretold of them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(loss="quantile", quantile=rate, min_samples_leaf=LEAST_LEAF, random_state=seed)
    model.fit(learning[1], _logarithm(learning[0]))
    members, others = (_logarithm(scores) - model.predict(images) for scores, images in sides)
    return members, others


def _point(aim: float, rates: tuple[Rate, Rate]) -> OperatingPoint:
    true, false = ((rate.value, rate.low, rate.high) for rate in rates)
    return OperatingPoint(aim=aim, threshold=0.0, tpr=true, fpr=false)


def _logarithm(scores: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(scores, np.finfo(float).tiny))
