"""The exponential mechanism in integers: nothing of a floating-point exponential, or of its sum, is left to attack.

Scores are float64 numbers taken as they are, exactly. Relative to the best score, each weight exp(rate (score - best)) is made in 100
digits and rounded down to a multiple of 2^-256; the best has 1. So the weights' sum is at least 1 and each weight is off by less than
2^-255, which moves the shares of m candidates by less than m 2^-254 in total. A uniform integer below 2^512 picks a share of the sum,
which is off by less than 2^-250 times what it is. Together below m 2^-240, with room to spare.
"""

from bisect import bisect_right
from collections.abc import Callable
from decimal import Context, Decimal
from itertools import accumulate

import numpy as np

from workbench.errors import WorkbenchError

PRECISION = 256  # bits of a weight; a choice takes twice as many
DISTANCE = 2.0**-240  # total variation from the exact law, of each candidate
LEAST_EXPONENT = Decimal(-1000)  # below it a weight is less than 2^-256


def choice_distance(candidates: int) -> float:
    """Total variation distance of one choice among so many from the exponential mechanism, for `Stage.sampler_distance`."""
    return candidates * DISTANCE


def weighted_choice(source: Callable[[int], bytes], scores: np.ndarray, rate: float) -> int:
    """A position drawn with weight exp(rate score) by the random bytes that `source` returns."""
    if not (len(scores) and np.isfinite(scores).all() and np.isfinite(rate)):
        raise WorkbenchError(f"Expected finite scores to choose by, at least one, and a finite rate, got {scores} and {rate}.")
    ends = list(accumulate(weights([float(score) for score in scores], rate)))
    drawn = int.from_bytes(source(2 * PRECISION // 8), "little")
    return bisect_right(ends, drawn * ends[-1] >> (2 * PRECISION))


def weights(scores: list[float], rate: float) -> list[int]:
    """exp(rate (score - best)) of each score, over 2^256, rounded down."""
    exact, factor = Context(prec=100), Decimal(rate)
    exponents = [exact.multiply(factor, Decimal(score)) for score in scores]
    best = max(exponents)
    differences = [max(LEAST_EXPONENT, exact.subtract(exponent, best)) for exponent in exponents]
    return [int(exact.multiply(Decimal(2**PRECISION), exact.exp(difference))) for difference in differences]
