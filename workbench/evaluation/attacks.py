"""Membership inference judged: ROC, AUC with its interval, true-positive rates at small false-positive rates.

Everything here looks at private records: it stays in the room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.evaluation.intervals import normal
from workbench.privacy.attacks.audit import Rate, rates_at_threshold, threshold_at_fpr

if TYPE_CHECKING:
    import plotly.graph_objects as go

RATES = (0.01, 0.001)
MOST_POINTS = 400
ONE_TRAINING = "Intervals are over records, of this one training; another training of the same plan may lie outside them."


class OperatingPoint(BaseModel):
    """A threshold fixed on other non-members than those it is judged on: "member if the score is at most `threshold`".

    `tpr` and `fpr` are (value, low, high), the ends Clopper and Pearson's at 95 %. `threshold` is None where the records that fix it are
    too few for so small a rate: then nobody is called a member.
    """

    model_config = ConfigDict(frozen=True)

    aim: float
    threshold: float | None
    tpr: tuple[float, float, float]
    fpr: tuple[float, float, float]


class MembershipResult(BaseModel):
    """How well scores (small: member) tell members from non-members; `interval` is DeLong's 95 % of the AUC, .5 is chance.

    Intervals are over the records of one training: they leave out how trainings of the same plan differ.

    `roc` are (false-positive, true-positive) pairs of every threshold, thinned. The AUC is of all scores, the points' non-members are
    the half that fixed no threshold.
    """

    model_config = ConfigDict(frozen=True)

    score: str
    num_members: int
    num_nonmembers: int
    auc: float
    interval: tuple[float, float]
    points: tuple[OperatingPoint, ...]
    roc: tuple[tuple[float, float], ...]
    releasable: bool = False


def membership_result(
    score: str, members: np.ndarray, nonmembers: np.ndarray, seed: int = 0, rates: Sequence[float] = RATES
) -> MembershipResult:
    """The result of scores float (N,) of members and (M,) of non-members, of whom a half drawn by `seed` fixes the thresholds."""
    if min(len(members), len(nonmembers)) < 4:
        raise WorkbenchError(f"Expected at least 4 members and 4 non-members, got {len(members)} and {len(nonmembers)}.")
    order = np.random.default_rng(seed).permutation(len(nonmembers))
    fixing, judging = np.split(nonmembers[order], [len(nonmembers) // 2])
    value, error = auc(members, nonmembers)
    interval = normal(value, error, 0.0, 1.0)
    assert interval is not None
    return MembershipResult(
        score=score,
        num_members=len(members),
        num_nonmembers=len(nonmembers),
        auc=value,
        interval=interval,
        points=tuple(_point(rate, members, fixing, judging) for rate in rates),
        roc=roc(members, nonmembers),
    )


def auc(members: np.ndarray, nonmembers: np.ndarray) -> tuple[float, float]:
    """P[a member's score is smaller than a non-member's] with ties at a half, and its standard error (DeLong et al. 1988)."""
    ordered = np.sort(nonmembers)
    below, upto = np.searchsorted(ordered, members, "left"), np.searchsorted(ordered, members, "right")
    of_member = 1 - (below + upto) / (2 * len(nonmembers))  # share of non-members above each member
    ordered = np.sort(members)
    below, upto = np.searchsorted(ordered, nonmembers, "left"), np.searchsorted(ordered, nonmembers, "right")
    of_nonmember = (below + upto) / (2 * len(members))
    variance = of_member.var(ddof=1) / len(members) + of_nonmember.var(ddof=1) / len(nonmembers)
    return float(of_member.mean()), float(np.sqrt(variance))


def roc(members: np.ndarray, nonmembers: np.ndarray) -> tuple[tuple[float, float], ...]:
    """(False-positive, true-positive rate) at the thresholds there are, from (0, 0) to (1, 1), at most some hundred."""
    thresholds = np.unique(np.concatenate([members, nonmembers]))
    if len(thresholds) > MOST_POINTS:  # all of the small ones: there the attack counts
        thresholds = np.unique(
            np.concatenate([thresholds[: MOST_POINTS // 2], np.quantile(thresholds, np.linspace(0, 1, MOST_POINTS // 2))])
        )
    false, true = ((np.searchsorted(np.sort(scores), thresholds, "right") / len(scores)) for scores in (nonmembers, members))
    return ((0.0, 0.0), *((float(x), float(y)) for x, y in zip(false, true, strict=True)))


def roc_figure(results: Sequence[MembershipResult]) -> go.Figure:
    """ROC curves on logarithmic axes, with chance."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for result in results:
        points = [point for point in result.roc if min(point) > 0]
        name = f"{result.score}: AUC {result.auc:.3f}"
        figure.add_scatter(x=[x for x, _ in points], y=[y for _, y in points], mode="lines", name=name, line_shape="hv")
    figure.add_scatter(x=[1e-4, 1], y=[1e-4, 1], mode="lines", name="chance", line_dash="dot")
    figure.update_xaxes(title="False-positive rate", type="log", range=[-4, 0])
    figure.update_yaxes(title="True-positive rate (private)", type="log", range=[-4, 0])
    return figure


def _point(aim: float, members: np.ndarray, fixing: np.ndarray, judging: np.ndarray) -> OperatingPoint:
    threshold = threshold_at_fpr(fixing, aim)
    true, false = rates_at_threshold(members, judging, threshold)
    return OperatingPoint(aim=aim, threshold=threshold if np.isfinite(threshold) else None, tpr=_values(true), fpr=_values(false))


def _values(rate: Rate) -> tuple[float, float, float]:
    return rate.value, rate.low, rate.high
