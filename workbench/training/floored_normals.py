"""Gaussian noise in integers: floor(2^bits N) for standard normal N, drawn exactly from uniform bits.

|N| is a sign, a bin a of width 1/64 and a place f within it. A bin is proposed with a whole weight v_a of 2^64, which is at least
K exp(-a^2 / 8192), by Walker's aliases, whose coins are whole numbers too. The place is uniform, and the draw is kept with probability
K exp(-(a + f)^2 / 8192) / v_a, so that (a + f) / 64 has density proportional to exp(-|N|^2 / 2). The bins from the last one on are
proposed one after another by fair coins.

Two words of 64 bits make a draw: the first chooses the bin, the second has the sign, the place's first bits and the keeping coin's.
Where these, with room for what float64 rounds, do not decide whether a draw is kept, place and coin are given further bits until they
do (about one draw in ten million). So nothing is rounded: what is drawn has the law of floor(2^bits N) (docs/proofs.md, section 5).
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

Words = Callable[[int], NDArray[np.uint64]]  # so many words, every value equally likely

NOISE_BITS = 30  # of a release in one go: its noise deviation is 2^30 grid steps
MOST_BITS = 50
BIN_BITS = 6  # 2^6 bins a deviation
SQUARES = 2 ** (2 * BIN_BITS + 1)  # (a + f)^2 over this is N^2 / 2
COLUMN_BITS = 11
TAIL = 2**COLUMN_BITS - 1  # the last column: bin TAIL and all that follow, from 31.98 deviations on
COIN_BITS = 64 - COLUMN_BITS
TRIES = 2**14  # at a time, so that what is between stays in the processor's cache
FLOAT_MARGIN = 2.0**-40  # above what float64 rounds in a chance, which is below 2^-48
MORE_WORDS = 4


@dataclass(frozen=True)
class Proposal:
    """How bins are proposed: each column of 2^53 coins is shared by its own bin, below its threshold, and by its alias."""

    weights: tuple[int, ...]  # v_a of 2^64, the tail's last
    scale: int  # K
    thresholds: NDArray[np.uint64]  # (columns,)
    aliases: NDArray[np.int64]  # (columns,)
    kept: NDArray[np.float64]  # (columns,): K exp(-a^2 / 8192) / v_a


@dataclass
class Uniform:
    """A uniform number in [0, 1), known to lie in [value, value + 1) / 2^bits; `extend` tells more of it."""

    value: int
    bits: int

    def extend(self, words: Words) -> None:
        """Learn the next 256 bits."""
        for word in words(MORE_WORDS).tolist():
            self.value, self.bits = self.value << 64 | word, self.bits + 64


def floored_normals(words: Words, count: int, bits: int = NOISE_BITS) -> NDArray[np.int64]:
    """`count` values of floor(2^bits N), int64 (count,), for `bits` from 0 to 50, made of the random words that `words` returns."""
    if not 0 <= bits <= MOST_BITS:
        raise ValueError(f"Expected 0 to {MOST_BITS} bits, got {bits}.")
    finer = max(bits, NOISE_BITS)
    drawn, done = np.empty(count, dtype=np.int64), 0
    while done < count:
        accepted = kept_draws(words, min(TRIES, count - done), finer - BIN_BITS)
        drawn[done : done + len(accepted)] = accepted
        done += len(accepted)
    return drawn >> (finer - bits)  # floor(floor(2^30 N) / 2^s) = floor(2^(30 - s) N)


def kept_draws(words: Words, tries: int, place_bits: int) -> NDArray[np.int64]:
    """What is kept of `tries` draws, all but one in a hundred, with places of `place_bits` bits."""
    proposal, coin_bits = proposals(), 63 - place_bits
    pool = words(2 * tries)
    bins, second = proposed_bins(proposal, pool[:tries]), pool[tries:]
    places = (second >> np.uint64(coin_bits) & np.uint64(2**place_bits - 1)).astype(np.int64)
    coins = (second & np.uint64(2**coin_bits - 1)).astype(np.int64)
    kept, undecided = settled_draws(proposal, bins, places, coins, place_bits)
    for index in undecided.tolist():
        place, coin = Uniform(int(places[index]), place_bits), Uniform(int(coins[index]), coin_bits)
        chosen = decide(proposal, int(bins[index]), place, coin, words)
        kept[index] = chosen is not None
        bins[index] = chosen or 0
    signs = -(second >> np.uint64(63)).view(np.int64)
    return ((bins << place_bits | places) ^ signs)[kept]  # ~m = -1 - m: the negative half, floored


def proposed_bins(proposal: Proposal, chosen: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Bins by one word each: a column, and a coin between the two bins that share it."""
    columns = (chosen >> np.uint64(COIN_BITS)).astype(np.int64)
    own = (chosen & np.uint64(2**COIN_BITS - 1)) < proposal.thresholds[columns]
    return np.where(own, columns, proposal.aliases[columns])


def settled_draws(
    proposal: Proposal, bins: NDArray[np.int64], places: NDArray[np.int64], coins: NDArray[np.int64], place_bits: int
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Which draws are kept, and the indices of those of which the bits at hand do not tell.

    Within a place's interval the chance of keeping a draw changes by less than its length, as (a + f)^2 / 8192 has a slope below 1/2.
    """
    coin_width = 2.0 ** (place_bits - 63)
    margin = coin_width + 2.0**-place_bits + FLOAT_MARGIN
    coin, middle = coins * coin_width, (places + 0.5) * 2.0**-place_bits
    exponent = middle * (2 * bins + middle) * (1.0 / SQUARES)
    start = proposal.kept[bins]
    kept = coin + margin < start * (1.0 - exponent)  # exp(-x) >= 1 - x settles nearly all
    kept &= bins != TAIL
    rest = np.flatnonzero(~kept)
    chance = start[rest] * np.exp(-exponent[rest])
    kept[rest] = coin[rest] + margin < chance
    return kept, rest[(np.abs(coin[rest] - chance) <= margin) | (bins[rest] == TAIL)]


def decide(proposal: Proposal, column: int, place: Uniform, coin: Uniform, words: Words) -> int | None:
    """The bin of a draw if it is kept, else None: place and coin are extended until they tell."""
    weight = Fraction(proposal.scale, proposal.weights[column])
    chosen = column
    if column == TAIL:  # bin TAIL + j is proposed with a share 2^-(j + 1) of the column
        tails = Uniform(0, 0)
        while not tails.value:
            tails.extend(words)
        chosen += tails.bits - tails.value.bit_length()
        weight *= 2 ** (chosen - TAIL + 1)
    while True:
        low, high = chances(chosen, place)
        if Fraction(coin.value + 1, 1 << coin.bits) <= weight * low:
            return chosen
        if Fraction(coin.value, 1 << coin.bits) >= weight * high:
            return None
        place.extend(words)
        coin.extend(words)


def chances(chosen: int, place: Uniform) -> tuple[Fraction, Fraction]:
    """Bounds of exp(-(chosen + f)^2 / 8192) over all that the place f may be. Decimal's exp is rounded correctly."""
    digits = place.bits // 3 + 30
    exact, slack = Context(prec=digits), Fraction(1, 10 ** (digits - 10))

    def chance(fraction: int) -> Fraction:
        square = ((chosen << place.bits) + fraction) ** 2
        return Fraction(exact.exp(exact.divide(Decimal(-square), Decimal(SQUARES << 2 * place.bits))))  # a bare minus would round

    return chance(place.value + 1) * (1 - slack), chance(place.value) * (1 + slack)


@cache
def proposals() -> Proposal:
    """The bins' weights and their columns."""
    exact = Context(prec=60)
    falling = [exact.exp(exact.divide(Decimal(-(number**2)), Decimal(SQUARES))) for number in range(TAIL)]
    scale = int(exact.divide(Decimal(2**64 - 2 * TAIL), sum(falling, Decimal(0))))
    weights = [int(exact.multiply(Decimal(scale), share)) + 1 for share in falling]
    weights.append(2**64 - sum(weights))
    thresholds, aliases = columns(weights)
    kept = [float(exact.divide(exact.multiply(Decimal(scale), share), weight)) for share, weight in zip(falling, weights[:-1], strict=True)]
    return Proposal(tuple(weights), scale, np.array(thresholds, dtype=np.uint64), np.array(aliases), np.array([*kept, 0.0]))


def columns(weights: list[int]) -> tuple[list[int], list[int]]:
    """Thresholds and aliases of columns of equal width whose sums by bin are `weights`, to the last unit (Walker 1977; Vose 1991)."""
    width, left = sum(weights) // len(weights), list(weights)
    thresholds, aliases = [width] * len(weights), list(range(len(weights)))
    small, large = ([number for number, weight in enumerate(left) if (weight < width) == below] for below in (True, False))
    while small:
        number, other = small.pop(), large[-1]
        thresholds[number], aliases[number] = left[number], other
        left[other] -= width - left[number]
        if left[other] < width:
            small.append(large.pop())
    return thresholds, aliases
