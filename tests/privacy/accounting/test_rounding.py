"""The PLD accountant composes by fast transforms, whose rounding may take off delta: its allowance, held against exact products."""

from collections.abc import Iterator

import numpy as np
import pytest
from dp_accounting.pld.pld_pmf import PLDPmf
from numpy.typing import NDArray

from workbench.privacy.accounting.accountants import pld
from workbench.privacy.accounting.accountants.mechanisms import SampledGaussian

Extended = NDArray[np.longdouble]
CASES = [(2.0, 0.01, 1000, 0.2), (1.0, 0.5, 500, 0.5), (1.0, 0.01, 1000, 0.3)]  # sigma, q, steps, interval: few points a step
DELTA = 1e-10  # the smallest that the accountant takes: where rounding weighs most


def powered(probabilities: Extended, count: int) -> Extended:
    """The `count`-fold convolution by sums of products of positive numbers, without a transform: no cancellation, hence exact here."""
    result, base = np.ones(1, dtype=np.longdouble), probabilities
    while count:
        if count & 1:
            result = np.convolve(result, base)
        count >>= 1
        base = np.convolve(base, base) if count else base
    return result


def exact_delta(step: PLDPmf, count: int, interval: float, epsilon: float) -> float:
    """delta at `epsilon` of `count` steps of one side's distribution of losses."""
    composed = powered(np.asarray(step._probs, dtype=np.longdouble), count)
    losses = (step._lower_loss * count + np.arange(len(composed))) * np.longdouble(interval)
    above = losses > epsilon
    infinite = -np.expm1(count * np.log1p(-np.longdouble(step._infinity_mass)))
    return float(infinite + (-np.expm1(epsilon - losses[above]) * composed[above]).sum())


def excesses() -> Iterator[float]:
    """How far the exact delta at the accountant's epsilon is above DELTA, for both sides of every case."""
    for sigma, rate, steps, interval in CASES:
        mechanism = SampledGaussian(rate, sigma)
        epsilon = pld.epsilon({mechanism: steps}, DELTA, interval)
        single = pld._single(mechanism, interval)
        for side in (single._pmf_remove, single._pmf_add):
            yield exact_delta(side, steps, interval, epsilon) - DELTA


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    """The accountant keeps what it gave: neither test may meet what the other one made of it."""
    pld._epsilon_of.cache_clear()
    yield
    pld._epsilon_of.cache_clear()


def test_epsilon_holds_at_delta_after_all_rounding() -> None:
    assert max(excesses()) <= 0


def test_without_its_allowance_it_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pld, "rounding", lambda _steps: 0.0)
    assert max(excesses()) > 0
