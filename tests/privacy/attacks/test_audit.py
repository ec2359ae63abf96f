"""Lower bounds: every vector of the theory, coverage by simulation, and refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.privacy.attacks import audit

VECTORS = json.loads((Path(__file__).parents[2] / "vectors_audit.json").read_text())
DELTA = 1e-5
PRINTED = [
    (1000, 1000, 600, 0.297227, 0.16385, 0.58354),
    (1000, 100, 95, 2.165176, 0.78681, 3.32330),
    (1000, 100, 100, 3.465376, 1.22553, 5.54903),
    (5000, 200, 180, 1.785671, 0.59008, 2.39953),
]


@pytest.mark.parametrize(("m", "r", "v", "epsilon"), VECTORS["one_run"])
def test_one_run(m: int, r: int, v: int, epsilon: float) -> None:
    assert audit.one_run(m, r, v, DELTA).epsilon == pytest.approx(epsilon, abs=1e-8)


@pytest.mark.parametrize(("m", "r", "v", "mu", "epsilon"), VECTORS["f_dp_one_run"])
def test_f_dp_one_run(m: int, r: int, v: int, mu: float, epsilon: float) -> None:
    result = audit.f_dp_one_run(m, r, v, DELTA)
    assert result.mu == pytest.approx(mu, abs=1e-9)
    assert result.epsilon == pytest.approx(epsilon, abs=1e-8)


@pytest.mark.parametrize(("m", "r", "v", "one_run", "mu", "f_dp"), PRINTED)
def test_audits_to_the_printed_digits(m: int, r: int, v: int, one_run: float, mu: float, f_dp: float) -> None:
    result = audit.f_dp_one_run(m, r, v, DELTA)
    assert result.mu is not None
    assert round(audit.one_run(m, r, v, DELTA).epsilon, 6) == one_run
    assert (round(result.mu, 5), round(result.epsilon, 5)) == (mu, f_dp)


def test_a_curve_at_the_limit_is_kept() -> None:
    assert not audit.f_dp_rejects(lambda x: x, 8, 4, 0, 1.0)


@pytest.mark.parametrize(("m", "printed"), [(100, 3.49), (500, 5.10), (1000, 5.78), (5000, 7.28)])
def test_ceiling(m: int, printed: float) -> None:
    result = audit.one_run(m, m, m // 2, DELTA)
    assert round(result.ceiling, 2) == printed
    assert result.ceiling == pytest.approx(dict(VECTORS["one_run_ceiling"])[m], abs=1e-8)
    assert not result.contradicts(8.0)
    assert result.epsilon == 0.0


def test_membership_test_with_and_without_the_gaussian_family() -> None:
    plain = audit.membership_test(200, 1000, 10, 1000, DELTA)
    gaussian = audit.membership_test(200, 1000, 10, 1000, DELTA, gaussian=True)
    assert gaussian.mu is not None
    assert (round(gaussian.mu, 5), round(plain.epsilon, 4)) == (2.84146, 3.7437)
    assert gaussian.mu == pytest.approx(VECTORS["two_sided"]["mu"])
    assert gaussian.epsilon > plain.epsilon
    assert plain.ceiling > plain.epsilon
    assert "Gaussian" in gaussian.assumption
    assert not gaussian.releasable


@pytest.mark.parametrize(("successes", "trials", "high"), VECTORS["upper_limit"])
def test_clopper_pearson(successes: int, trials: int, high: float) -> None:
    rate = audit.clopper_pearson(successes, trials)
    mirrored = audit.clopper_pearson(trials - successes, trials)
    assert rate.high == pytest.approx(high)
    assert rate.low == pytest.approx(1 - mirrored.high)
    assert rate.low <= rate.value <= rate.high


@given(st.integers(1, 60), st.integers(0, 60), st.floats(1e-9, 1e-3))
@settings(max_examples=40, deadline=None)
def test_more_correct_guesses_never_prove_less(guesses: int, correct: int, delta: float) -> None:
    correct = min(correct, guesses - 1)
    assert audit.one_run_epsilon(60, guesses, correct, delta) <= audit.one_run_epsilon(60, guesses, correct + 1, delta) + 1e-9
    assert audit.f_dp_one_run_mu(60, guesses, correct) <= audit.f_dp_one_run_mu(60, guesses, correct + 1) + 1e-9


def test_one_run_is_below_the_truth_for_randomised_response() -> None:
    epsilon, canaries, trials = 1.5, 200, 300
    correct = np.random.default_rng(0).binomial(canaries, 1 / (1 + math.exp(-epsilon)), trials)
    distinct = {int(value): audit.one_run_epsilon(canaries, canaries, int(value), 1e-9) for value in set(correct.tolist())}
    bounds = np.array([distinct[int(value)] for value in correct])
    assert (bounds > epsilon).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert np.median(bounds) > 0.5 * epsilon


def test_threshold_and_rates_come_from_different_records() -> None:
    generator = np.random.default_rng(0)
    calibration, nonmembers = generator.normal(0, 1, 50_000), generator.normal(0, 1, 50_000)
    members = generator.normal(-2, 1, 2000)
    threshold = audit.threshold_at_fpr(calibration, 0.01)
    assert (calibration <= threshold).mean() == 0.01
    true_rate, false_rate = audit.rates_at_threshold(members, nonmembers, threshold, alpha=1e-3)
    assert false_rate.low <= 0.01 <= false_rate.high
    assert true_rate.low <= 0.372 <= true_rate.high  # Phi(-2.326 + 2)
    assert audit.threshold_at_fpr(calibration[:50], 0.01) == -math.inf


@pytest.mark.parametrize("counts", [(10, 11, 5), (10, 5, 6), (10, 0, 0), (10, 5, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(WorkbenchError, match="correct <= guesses <= canaries"):
        audit.one_run(*counts, DELTA)
    with pytest.raises(WorkbenchError, match="correct <= guesses <= canaries"):
        audit.f_dp_one_run(*counts, DELTA)


@pytest.mark.parametrize("bad", [{"delta": 0.0}, {"delta": 1.0}, {"delta": 1e-5, "confidence": 1.0}])
def test_bad_levels_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        audit.one_run(100, 100, 60, **bad)
