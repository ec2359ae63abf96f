"""One-shot releases: noise whose law is the rounded normal within a certified distance, on a grid that no vector outgrows."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from workbench.errors import WorkbenchError
from workbench.training import one_shot
from workbench.training.one_shot import BINS, DISTANCE, DRAW_BYTES, PRECISION, Grid, below_exponential, bin_ends, floored_normal
from workbench.training.randomness import Randomness

RANDOMNESS = Randomness.from_seed(5)
WIDTH = PRECISION // 8
COIN_ERROR = 64  # of 2^256 coins, besides what the place's last bit may do


def shares() -> list[int]:
    """What each bin has of 2^256."""
    ends = bin_ends()
    return [end - start for start, end in zip((0, *ends[:-1]), ends, strict=True)]


def test_the_bins_shares_and_the_coin_certify_the_distance() -> None:
    with mpmath.workprec(500):
        whole = mpmath.mpf(2) ** PRECISION
        weights = [mpmath.exp(mpmath.mpf(-(number**2)) / 8192) for number in range(3000)]
        total = mpmath.fsum(weights)
        beyond = mpmath.fsum(weights[BINS:]) / total * 2  # and what follows the 3000th is far smaller than the doubling
        apart = mpmath.fsum(abs(share / whole - weight / total) for share, weight in zip(shares(), weights, strict=False)) + beyond
        slope = mpmath.mpf(2 * BINS + 2) / 8192  # of the exponent in the place: what the place's rounding may do to a coin
        kept = mpmath.sqrt(mpmath.pi / 2) * 64 / total
        assert 0.98 < kept < 1
        certified = (apart + (COIN_ERROR + slope + 1) / whole) / kept
        assert certified < DISTANCE
        assert sum(shares()) == 2**PRECISION


def test_bin_by_bin_the_kept_draws_have_the_normals_probabilities() -> None:
    with mpmath.workprec(400):
        found, exact = [], []
        for number, share in enumerate(shares()):
            low, high = (mpmath.erfc(edge / 64 / mpmath.sqrt(2)) for edge in (mpmath.mpf(number), mpmath.mpf(number + 1)))
            exact.append(low - high)
            kept = (low - high) * 64 * mpmath.sqrt(mpmath.pi / 2) / mpmath.exp(mpmath.mpf(-(number**2)) / 8192)  # by integration
            found.append(share * kept)
        total = mpmath.fsum(found)
        distance = mpmath.fsum(abs(one / total - other) for one, other in zip(found, exact, strict=True))
        assert distance < DISTANCE


def test_the_integral_above_is_what_the_coin_keeps() -> None:
    for number in (0, 1, 77, 400):
        low, high = (mpmath.erfc(edge / 64 / mpmath.sqrt(2)) for edge in (mpmath.mpf(number), mpmath.mpf(number + 1)))
        kept = (low - high) * 64 * mpmath.sqrt(mpmath.pi / 2) / mpmath.exp(mpmath.mpf(-(number**2)) / 8192)
        assert kept == pytest.approx(float(mpmath.quad(lambda f, a=number: mpmath.exp(-f * (2 * a + f) / 8192), [0, 1])), rel=1e-12)


@pytest.mark.parametrize("number", [0, 1, 5, 63, 200, 700, BINS - 1])
def test_the_coin_is_exact(number: int) -> None:
    draw = np.random.default_rng(number)
    for _ in range(20):
        place = int.from_bytes(draw.bytes(WIDTH), "little")
        with mpmath.workprec(600):
            fraction = mpmath.mpf(place) / 2**PRECISION
            exact = mpmath.exp(-fraction * (2 * number + fraction) / 8192) * 2**PRECISION
            bar = int(mpmath.floor(exact))
        ends = bin_ends()
        inside = (ends[number - 1] if number else 0).to_bytes(WIDTH, "little") + place.to_bytes(WIDTH, "little")
        kept, dropped = (
            floored_normal(inside + min(coin, 2**PRECISION - 1).to_bytes(WIDTH, "little") + b"\1")
            for coin in (bar - COIN_ERROR, bar + COIN_ERROR)
        )
        assert kept == (number << 24) + (place >> (PRECISION - 24))
        assert dropped is None or bar + COIN_ERROR >= 2**PRECISION
        assert floored_normal(inside + bytes(WIDTH) + b"\0") == -1 - kept


def test_the_series_ends_at_every_coin() -> None:
    for exponent in (0, 1, 2**200, 2**254):
        with mpmath.workprec(600):
            bar = int(mpmath.exp(-mpmath.mpf(exponent) / 2**PRECISION) * 2**PRECISION)
        answers = [below_exponential(coin, exponent) for coin in range(max(bar - 70, 0), min(bar + 70, 2**PRECISION))]
        assert answers == sorted(answers, reverse=True)
        assert abs(sum(answers) - 70) <= COIN_ERROR or exponent <= 1


def test_what_is_drawn_is_the_rounded_normal() -> None:
    drawn = RANDOMNESS.stream("release").floored_normal((300, 200)).ravel()
    assert drawn.dtype == np.int64
    edges = np.concatenate([[-np.inf], np.linspace(-3.5, 3.5, 71), [np.inf]])
    counts = np.histogram(drawn / 2**30, edges)[0]
    assert stats.chisquare(counts, np.diff(stats.norm.cdf(edges)) * len(drawn)).pvalue > 1e-6
    for shift in (0, 12, 24):  # the places' bits, to the last
        assert stats.chisquare(np.bincount(drawn >> shift & 15, minlength=16)).pvalue > 1e-6
    assert np.array_equal(drawn, RANDOMNESS.stream("release").floored_normal(60_000))


def test_draws_come_in_whole_numbers_of_bytes() -> None:
    asked: list[int] = []

    def source(count: int) -> bytes:
        asked.append(count)
        return RANDOMNESS.stream("bytes", len(asked)).read(count)

    assert len(one_shot.floored_normals(source, 5000)) == 5000
    assert all(count % DRAW_BYTES == 0 for count in asked)
    assert 5000 <= sum(asked) // DRAW_BYTES < 5300


@pytest.mark.parametrize("deviation", [1e-3, 2.0, 37.3, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_vector_is_longer_on_the_grid(deviation: float, kind: type) -> None:
    grid = Grid(deviation, max_norm=1.0, num_records=1000)
    vectors = np.random.default_rng(0).standard_normal((40, 300)).astype(kind)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)  # of norm 1 up to rounding, half of them above it
    vectors[0] *= 100
    vectors[1] *= 0.25
    steps = grid.truncated(vectors)
    longest = Fraction(1) / Fraction(grid.spacing)
    assert all(sum(int(step) ** 2 for step in row) <= longest**2 for row in steps)
    assert np.abs(grid.values(steps[1:]) - vectors[1:]).max() <= grid.spacing + 1e-6
    assert grid.spacing * 2**30 == deviation


def test_a_release_lies_on_the_grid_and_is_the_sum_and_the_noise() -> None:
    grid = Grid(3.7, max_norm=1.0, num_records=10**6)
    total = np.array([[0, 1, -1], [2**46, -(2**46), 12345]])
    released = RANDOMNESS.release("release", 1, total, grid)
    noise = RANDOMNESS.stream("release", 1).floored_normal((2, 3))
    assert np.array_equal(released, (total + noise) * grid.spacing)
    steps = [Fraction(value) / Fraction(grid.spacing) for value in released.ravel().tolist()]
    assert [round(step) for step in steps] == (total + noise).ravel().tolist()
    assert max(abs(step - round(step)) for step in steps) < 2**-5  # the product's last bit


def test_what_a_grid_cannot_hold_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="larger noise multiplier"):
        Grid(2e-3, max_norm=1.0, num_records=2**24)
    for deviation in (0.0, math.nan, math.inf):
        with pytest.raises(WorkbenchError, match="noise deviation"):
            Grid(deviation, max_norm=1.0, num_records=10)
    with pytest.raises(WorkbenchError, match="finite vectors"):
        Grid(1.0, max_norm=1.0, num_records=10).truncated(np.array([[np.nan, 1.0]]))
