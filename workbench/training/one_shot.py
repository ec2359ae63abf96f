"""One-shot releases on a public grid: exact integer sums, and Gaussian noise that is drawn in integers.

A release of deviation sigma lives on the multiples of sigma / 2^30. Every record's vector is rounded towards zero on that grid,
which lengthens no vector, and summed in integers, so that no rounding of a sum adds to the distance between neighbors (where sums
are rounded instead, as they are too many to sum record by record, the noise is widened for it). To the
sum x, in grid steps, is added floor(2^30 N): x + floor(2^30 N) = floor(x + 2^30 N) is post-processing of the Gaussian mechanism
in real numbers, whose event the stage states. Nothing of a floating-point normal is left to attack (Mironov 2012).

N is drawn as a sign, a bin a of width 1/64 and a place f within it. With weights exp(-a^2 / 8192) for the bins, f uniform, and a
draw kept with probability exp(-f (2 a + f) / 8192), |N| = (a + f) / 64 has density exp(-|N|^2 / 2) up to a factor. All three are
integers over 2^256, so what is drawn is within total variation DISTANCE of floor(2^30 N) (docs/proofs.md, section 5).
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache

import numpy as np

from workbench.errors import WorkbenchError

NOISE_BITS = 30  # a noise deviation is 2^30 grid steps
BIN_BITS = 6  # and 2^6 bins
PLACE_BITS = NOISE_BITS - BIN_BITS
PRECISION = 256  # bits of a bin's choice, of a place and of a coin
BINS = 1200  # 18.75 deviations; what lies beyond has a probability below 2^-257
DRAW_BYTES = 3 * PRECISION // 8 + 1
DRAWS_AT_ONCE = 4096
DISTANCE = 2.0**-240  # total variation from floor(2^30 N), of each number drawn
ROUNDING = 2  # steps, in every number, by which the rounding of two neighboring sums may part them
EXACT_STEPS = 2**50  # up to which a rounded sum is off by less than half a step beside its rounding
NORM_MARGIN = 2.0**-30  # above what float64 rounds in the norm of a vector of up to 2^20 numbers


@dataclass(frozen=True)
class Grid:
    """The public grid of a release of `num_records` vectors' sum, each of norm at most `max_norm`, with noise of `deviation`."""

    deviation: float
    max_norm: float
    num_records: int

    def __post_init__(self) -> None:
        if not (self.deviation > 0 and math.isfinite(self.deviation)):
            raise WorkbenchError(f"Expected a finite noise deviation above 0, got {self.deviation}.")
        if self.num_records * self.max_norm / self.spacing >= 2**62:
            raise WorkbenchError(
                f"Expected a sum of {self.num_records} records that fits 62 bits in steps of {self.spacing:.3g}, and it does not. "
                "Use a larger noise multiplier."
            )

    @property
    def spacing(self) -> float:
        """The distance of neighboring grid points: deviation / 2^30, exactly."""
        return math.ldexp(self.deviation, -NOISE_BITS)

    def truncated(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors (B, F) in grid steps, int64, each rounded towards zero after it was clipped to `max_norm`: no norm exceeds it.

        F is at most 2^20. Raises WorkbenchError where a vector is not finite.
        """
        if vectors.shape[1] > 2**20:
            raise WorkbenchError(f"Expected vectors of at most 2^20 numbers, got {vectors.shape[1]}.")
        vectors = vectors.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise WorkbenchError("Expected finite vectors to release a sum of, got one that is not. Look at the records' values.")
        within = self.max_norm * (1.0 - NORM_MARGIN)
        vectors *= within / np.maximum(norms, within)
        vectors /= self.spacing
        return np.trunc(vectors, out=vectors).astype(np.int64)

    def rounded(self, sums: np.ndarray) -> np.ndarray:
        """Sums of vectors, as made without rounding but for two products in float64, in grid steps, int64; dividing by the step is a third.

        Neighboring sums come apart by at most ROUNDING steps more in every number; `widened_deviation` makes up for it. Raises
        WorkbenchError where a sum may be too large for that.
        """
        if self.num_records * self.max_norm / self.spacing >= EXACT_STEPS:
            raise WorkbenchError("Expected sums of at most 2^50 grid steps to round, got room for more. Use a larger noise multiplier.")
        return np.rint(sums / self.spacing).astype(np.int64)

    def values(self, steps: np.ndarray) -> np.ndarray:
        """Grid steps (int64) as float64 numbers."""
        return steps * self.spacing


def widened_deviation(deviation: float, noise_multiplier: float, count: int) -> float:
    """The deviation of a release of `count` rounded sums that has `noise_multiplier` as `deviation` has where nothing is rounded.

    Neighbors at most deviation / noise_multiplier apart are, in steps of the wider grid, at most deviation / (noise_multiplier spacing)
    + ROUNDING sqrt(count) apart; that is 2^30 / noise_multiplier, as it has to be.
    """
    share = rounding_share(noise_multiplier, count)
    if share >= 0.5:
        raise WorkbenchError(f"Expected noise that the rounding of {count} sums hardly adds to, got {noise_multiplier:g}. Use less noise.")
    return deviation / (1.0 - share)


def rounding_share(noise_multiplier: float, count: int) -> float:
    """What rounding `count` sums adds at most to the distance of neighbors, over the distance that `noise_multiplier` refers to."""
    return noise_multiplier * ROUNDING * math.sqrt(count) * 2.0**-NOISE_BITS


def sampler_distance(count: int) -> float:
    """Total variation distance of `count` numbers of noise from the exact law, for `Stage.sampler_distance`."""
    return count * DISTANCE


def floored_normals(source: Callable[[int], bytes], count: int) -> np.ndarray:
    """`count` values of floor(2^30 N), int64 (count,), from the random bytes that `source` returns; N standard normal."""
    drawn: list[int] = []
    while len(drawn) < count:
        tries = min(count - len(drawn), DRAWS_AT_ONCE)
        pool = source(tries * DRAW_BYTES)
        found = (floored_normal(pool[start : start + DRAW_BYTES]) for start in range(0, len(pool), DRAW_BYTES))
        drawn += [value for value in found if value is not None]
    return np.array(drawn, dtype=np.int64)


def floored_normal(draw: bytes) -> int | None:
    """One value from DRAW_BYTES random bytes, or None where the draw is not kept (one in a hundred)."""
    width = PRECISION // 8
    bin_coin, place, coin = (int.from_bytes(draw[start : start + width], "little") for start in range(0, 3 * width, width))
    chosen = bisect_right(bin_ends(), bin_coin)
    if not below_exponential(coin, place * ((chosen << (PRECISION + 1)) + place) >> (PRECISION + 2 * BIN_BITS + 1)):
        return None
    magnitude = (chosen << PLACE_BITS) + (place >> (PRECISION - PLACE_BITS))
    return magnitude if draw[-1] & 1 else -1 - magnitude


def below_exponential(coin: int, exponent: int) -> bool:
    """Whether coin < exp(-exponent), both over 2^256, exponent < 1; wrong for at most 64 coins of 2^256.

    The exponential series alternates: its partial sums bound it from above and from below in turn.
    """
    term = total = 1 << PRECISION
    order = 1
    while True:
        term = (term * exponent >> PRECISION) // order
        total -= term
        if coin < total:
            return True
        term = (term * exponent >> PRECISION) // (order + 1)
        total += term
        if coin >= total:
            return False
        order += 2


@cache
def bin_ends() -> tuple[int, ...]:
    """Where the bins' shares of 2^256 end, ascending: cumulative weights exp(-a^2 / 8192), rounded down."""
    exact = Context(prec=100)
    scale = Decimal(2 ** (2 * BIN_BITS + 1))
    sums = [Decimal(0)]
    for number in range(BINS):
        sums.append(exact.add(sums[-1], exact.exp(exact.divide(Decimal(-(number**2)), scale))))
    shares = [exact.multiply(Decimal(2**PRECISION), exact.divide(end, sums[-1])) for end in sums[1:]]
    return (*(int(share) for share in shares[:-1]), 2**PRECISION)
