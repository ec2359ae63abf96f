"""PATE's data-dependent formulas: vectors, what they fall back to, and that they hold for exact mechanisms."""

import math

import numpy as np
import pytest
from scipy import stats

from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.not_dp import vote_gaps

L20 = np.array([20.0])


def turned_by_laplace(counts: np.ndarray, rate: float) -> np.ndarray:
    """At least the chance (Q,) that votes (Q, m) with Laplace noise of scale 1/`rate` have another argmax (2017, Lemma 4)."""
    scaled = rate * vote_gaps.gaps(counts)
    return ((2.0 + scaled) / 4.0 * np.exp(-scaled)).sum(axis=1)


@pytest.mark.parametrize(("votes", "moment"), [((1000, 0), 0.0), ((520, 480), 0.791), ((500, 500), 2.10)])
def test_one_teacher_near_a_tie_moves_a_moment(votes: tuple[int, int], moment: float) -> None:
    error = turned_by_laplace(np.array([votes]), 0.05)
    assert float(vote_gaps.pure_moments(error, 0.1, L20)[0, 0]) == pytest.approx(moment, abs=5e-4)


@pytest.mark.parametrize("gap", [1, 5, 20, 60])
def test_moments_are_at_least_those_of_the_exact_answers(gap: int) -> None:
    """Of two sides with Laplace noise of scale 10 each, one vote changed either way."""

    def first(ahead: float) -> float:
        scaled = 0.1 * abs(ahead)
        behind = (2.0 + scaled) / 4.0 * math.exp(-scaled)
        return 1.0 - behind if ahead > 0 else behind

    votes = np.array([[50 + gap, 50]])
    error = turned_by_laplace(votes, 0.1)
    assert error[0] == pytest.approx(1.0 - first(gap), rel=1e-12)
    for order in (1.0, 5.0, 20.0):
        exact = max(
            math.log(sum(p * (p / q) ** order for p, q in ((first(gap), first(gap + d)), (1 - first(gap), 1 - first(gap + d)))))
            for d in (-2, 2)
        )
        assert float(vote_gaps.pure_moments(error, 0.2, np.array([order]))[0, 0]) >= exact - 1e-12


@pytest.mark.parametrize("gap", [2, 40, 200, 300])
def test_rdp_is_at_least_that_of_the_exact_answers(gap: int) -> None:
    deviation, orders = 40.0, np.array([2.0, 5.0, 20.0])
    votes = np.array([[gap, 0]])
    error = vote_gaps.gnmax_error(votes, deviation)
    assert error[0] == pytest.approx(stats.norm.sf(gap / (math.sqrt(2) * deviation)), rel=1e-9)
    divergences = vote_gaps.gnmax_rdp(error, deviation, orders)[0]
    for place, order in enumerate(orders):
        exact = 0.0
        for other in (gap - 2, gap + 2):
            p, q = (stats.norm.cdf(ahead / (math.sqrt(2) * deviation)) for ahead in (gap, other))
            exact = max(exact, math.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1))
        assert exact - 1e-12 <= divergences[place] <= order / deviation**2


def test_clear_votes_cost_less_than_the_worst_case_and_ties_exactly_that() -> None:
    clear, tied = (vote_gaps.gnmax_error(np.array([votes] * 300), 40.0) for votes in ((400, 0), (200, 200)))
    there, here = vote_gaps.by_gaussian(clear, 40.0, 1e-5), vote_gaps.by_gaussian(tied, 40.0, 1e-5)
    assert there.worst_case == here.worst_case == pytest.approx(3.1260, rel=1e-4), "their conversion is looser than ours"
    assert here.epsilon == pytest.approx(here.worst_case)
    assert here.worst_case >= gdp_epsilon(math.sqrt(300 * 2) / 40.0, 1e-5)
    assert there.epsilon < 0.2 * there.worst_case
    assert "not releasable" in there.mark


def test_laplace_worst_case_is_the_moments_vector() -> None:
    tied = turned_by_laplace(np.array([[5, 5]] * 1000), 0.05)
    bound = vote_gaps.by_laplace(tied, 0.1, 1e-5)
    assert bound.worst_case == pytest.approx(20.756, rel=1e-4)
    assert bound.epsilon == pytest.approx(bound.worst_case)


def test_costs_of_many_answers_add_up_whatever_is_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    error = np.random.default_rng(0).choice([1e-9, 1e-4, 0.02, 0.1, 0.3], 40)
    beside = 0.01 * vote_gaps.ORDERS
    rdp = vote_gaps.gnmax_rdp(error, 30.0).sum(axis=0) + beside
    worst = 43 * vote_gaps.ORDERS / 30.0**2 + beside
    moments = vote_gaps.pure_moments(error, 0.2).sum(axis=0)
    for at_once in (2, 4096):
        monkeypatch.setattr(vote_gaps, "AT_ONCE", at_once)
        answers = vote_gaps.by_gaussian(error, 30.0, 1e-5, beside, unanswered=3)
        assert answers.epsilon == pytest.approx(vote_gaps.rdp_epsilon(rdp, 1e-5), rel=1e-12)
        assert (answers.worst_case, answers.queries) == (pytest.approx(vote_gaps.rdp_epsilon(worst, 1e-5), rel=1e-12), 43)
        assert vote_gaps.by_laplace(error, 0.2, 1e-5).epsilon == pytest.approx(vote_gaps.moments_epsilon(moments, 1e-5), rel=1e-12)
