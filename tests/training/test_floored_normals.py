"""The sampler of floor(2^bits N): its proposals are whole numbers, its chances are the normal's, and no decision is a rounded one."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from workbench.training import floored_normals as sampler
from workbench.training.floored_normals import (
    COIN_BITS,
    NOISE_BITS,
    TAIL,
    Uniform,
    chances,
    columns,
    decide,
    proposals,
    proposed_bins,
    settled_draws,
)
from workbench.training.randomness import Randomness

RANDOMNESS = Randomness.from_seed(5)
WHOLE = {"zeros": 0, "ones": 2**64 - 1}


def repeated(word: int) -> sampler.Words:
    """A source of one word, again and again."""
    return lambda count: np.full(count, word, dtype=np.uint64)


def exactly(number: int, place: Fraction) -> mpmath.mpf:
    """K exp(-(a + f)^2 / 8192) / v_a, the chance that a proposal of bin `number` at `place` is kept."""
    proposal = proposals()
    with mpmath.workprec(400):
        x = mpmath.mpf(number) + mpmath.mpf(place.numerator) / place.denominator
        return mpmath.exp(-x * x / 8192) * proposal.scale / proposal.weights[number]


def test_every_bin_is_proposed_at_least_as_often_as_it_is_kept() -> None:
    proposal = proposals()
    assert sum(proposal.weights) == 2**64
    assert min(proposal.weights) >= 1
    for number in range(TAIL):
        chance = exactly(number, Fraction(0))
        assert chance <= 1
        assert float(chance) == pytest.approx(proposal.kept[number], rel=1e-15)
    for beyond in range(3000):  # of the bins behind the last column, each proposed half as often as the one before
        with mpmath.workprec(400):
            weight = mpmath.mpf(proposal.weights[TAIL]) / 2 ** (beyond + 1)
            assert mpmath.exp(-(mpmath.mpf(TAIL + beyond) ** 2) / 8192) * proposal.scale < weight
    assert float(sum(exactly(a, Fraction(1, 2)) * proposal.weights[a] for a in range(400))) / 2**64 > 0.98, "few proposals are in vain"


def test_the_columns_hold_the_weights_to_the_last_unit() -> None:
    proposal = proposals()
    assert len(proposal.thresholds) == len(proposal.aliases) == TAIL + 1
    for thresholds, aliases, weights in (
        (proposal.thresholds.tolist(), proposal.aliases.tolist(), list(proposal.weights)),
        (*columns([1, 7, 0, 8]), [1, 7, 0, 8]),
    ):
        width, totals = sum(weights) // len(weights), [0] * len(weights)
        for number, (threshold, alias) in enumerate(zip(thresholds, aliases, strict=True)):
            totals[number] += threshold
            totals[alias] += width - threshold
        assert totals == weights


def test_a_word_chooses_its_bin_by_comparing_whole_numbers() -> None:
    proposal = proposals()
    column = int(np.flatnonzero((proposal.thresholds > 0) & (proposal.thresholds < 2**COIN_BITS))[0])
    bar = int(proposal.thresholds[column])
    words = np.array([column << COIN_BITS | coin for coin in (0, bar - 1, bar, 2**COIN_BITS - 1)], dtype=np.uint64)
    alias = int(proposal.aliases[column])
    assert proposed_bins(proposal, words).tolist() == [column, column, alias, alias]


@pytest.mark.parametrize("place_bits", [24, 34, 44])
def test_what_few_bits_decide_is_what_all_bits_would(place_bits: int) -> None:
    """Of draws at the chance itself, beside it and anywhere: none that is called decided turns out otherwise, whatever follows."""
    proposal, draw = proposals(), np.random.default_rng(place_bits)
    coin_bits = 63 - place_bits
    bins = np.concatenate([draw.integers(0, 400, 60), [0, 0, 1, 700, TAIL - 1, TAIL]])
    places = np.concatenate([draw.integers(0, 2**place_bits, 63), [0, 2**place_bits - 1, 5]])
    with mpmath.workprec(200):
        bars = [
            int(exactly(a, Fraction(int(p), 2**place_bits)) * 2**coin_bits) if a < TAIL else 0
            for a, p in zip(bins.tolist(), places.tolist(), strict=True)
        ]
    for step in (-(2 ** max(coin_bits - 20, 1)), -3, -2, -1, 0, 1, 2, 3, 2 ** max(coin_bits - 20, 1)):
        coins = np.clip(np.array(bars) + step, 0, 2**coin_bits - 1)
        kept, unknown = settled_draws(proposal, bins, places, coins, place_bits)
        for index in set(range(len(bins))) - set(unknown.tolist()):
            for place_word in WHOLE.values():
                for coin_word in WHOLE.values():
                    place, coin = Uniform(int(places[index]), place_bits), Uniform(int(coins[index]), coin_bits)
                    place.extend(repeated(place_word))
                    coin.extend(repeated(coin_word))
                    low, high = chances(int(bins[index]), place)
                    weight = Fraction(proposal.scale, proposal.weights[bins[index]])
                    at = Fraction(coin.value, 1 << coin.bits)
                    assert (at < weight * high) if kept[index] else (at >= weight * low)


def test_undecided_draws_are_rare_and_the_tail_is_always_one() -> None:
    proposal, draw = proposals(), np.random.default_rng(1)
    count = 200_000
    bins = proposed_bins(proposal, draw.integers(0, 2**64, count, dtype=np.uint64))
    kept, unknown = settled_draws(proposal, bins, draw.integers(0, 2**24, count), draw.integers(0, 2**39, count), 24)
    assert len(unknown) < 3
    assert 0.985 < kept.mean() < 1
    _, unknown = settled_draws(proposal, np.full(4, TAIL), np.zeros(4, np.int64), np.array([0, 1, 2**38, 2**39 - 1]), 24)
    assert unknown.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [0, 5, 200, 1000])
def test_further_bits_decide_exactly(number: int) -> None:
    place = Uniform(3 * 2**20, 24)
    fraction = Fraction(3 * 2**20, 2**24)
    bar = int(mpmath.floor(exactly(number, fraction) * 2**39))

    def answer(coin: int, word: int) -> int | None:
        """Of a place that has no further bit."""
        words = iter([0, word] * 10)
        return decide(proposals(), number, Uniform(place.value, place.bits), Uniform(coin, 39), lambda count: repeated(next(words))(count))

    assert answer(bar, 0) == number, "the coin lies below the chance by the part of a step"
    assert answer(bar, 2**64 - 1) is None
    assert answer(0, 0) == number
    assert answer(2**39 - 1, 0) is None or bar == 2**39 - 1


def test_the_bounds_of_a_chance_close_around_it() -> None:
    place = Uniform(12345, 24)
    width = 1.0
    for _ in range(3):
        low, high = chances(77, place)
        with mpmath.workprec(3000):
            for end in (place.value, place.value + 1):
                x = mpmath.mpf(77) + mpmath.mpf(end) / mpmath.mpf(2) ** place.bits
                exact = mpmath.exp(-x * x / 8192)
                assert mpmath.mpf(low.numerator) / low.denominator < exact < mpmath.mpf(high.numerator) / high.denominator
        assert float(high - low) < width
        width = float(high - low) * 1e-60
        place.extend(repeated(2**63 + 12345))


def test_bins_behind_the_last_column_halve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place in the tail is the number of tails before the first head; with any other coin than almost zero it is dropped."""
    words = iter([0, 2**63, 0, 0])
    decision = decide(proposals(), TAIL, Uniform(0, 24), Uniform(0, 39), lambda count: repeated(next(words, 0))(count))
    assert decision == TAIL + 256, "four words of tails, then a head"
    assert decide(proposals(), TAIL, Uniform(0, 24), Uniform(1, 39), repeated(2**63)) is None


@pytest.mark.parametrize("bits", [12, NOISE_BITS, 45])
def test_what_is_drawn_is_the_floored_normal(bits: int) -> None:
    drawn = RANDOMNESS.stream("release").floored_normal((300, 400), bits).ravel()
    assert drawn.dtype == np.int64
    edges = np.concatenate([[-np.inf], np.linspace(-3.5, 3.5, 71), [np.inf]])
    counts = np.histogram((drawn + 0.5) * 2.0**-bits, edges)[0]  # the edges are not at steps of 12 bits, so few at most lie astray
    assert stats.chisquare(counts, np.diff(stats.norm.cdf(edges)) * len(drawn)).pvalue > 1e-6
    for shift in range(0, bits - 6, 12):  # the places' bits, to the last
        assert stats.chisquare(np.bincount(drawn >> shift & 15, minlength=16)).pvalue > 1e-6
    assert np.array_equal(drawn, RANDOMNESS.stream("release").floored_normal(120_000, bits))
    assert (drawn < 0).mean() == pytest.approx(0.5, abs=0.01)


def test_a_coarser_draw_is_the_finer_one_floored() -> None:
    finer, coarser = (RANDOMNESS.stream("floors").floored_normal(1000, bits) for bits in (NOISE_BITS, 7))
    assert np.array_equal(coarser, np.floor(finer / 2.0 ** (NOISE_BITS - 7)))
    with pytest.raises(ValueError, match="0 to 50 bits"):
        RANDOMNESS.stream("floors").floored_normal(1, 51)
