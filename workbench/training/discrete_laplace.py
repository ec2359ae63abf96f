"""Discrete Laplace noise in integers, drawn exactly: nothing of a floating-point logarithm is left to attack.

Canonne, Kamath and Steinke (2020), Algorithms 1 and 2, for many numbers at once: each loop is taken by the numbers that still need it.
"""

import math
from collections.abc import Callable

import numpy as np

from workbench.errors import WorkbenchError

Integers = Callable[[int, int, int], np.ndarray]  # low, high, count -> so many of low, .., high - 1, exactly equally likely

SCALE_BITS = 16  # a scale is rounded up to a multiple of 2^-16, which adds noise
MOST_SCALE = 2**24


def discrete_laplace(integers: Integers, scale: float, count: int) -> np.ndarray:
    """Integers int64 (count,), each x with a probability in proportion to exp(-|x| / scale); the scale is rounded up."""
    if not 0 < scale <= MOST_SCALE:
        raise WorkbenchError(f"Expected a scale of Laplace noise above 0 and at most {MOST_SCALE}, got {scale}.")
    numerator, divisor = math.ceil(scale * 2**SCALE_BITS), 2**SCALE_BITS
    drawn = np.zeros(count, dtype=np.int64)
    left = np.arange(len(drawn))
    while left.size:
        magnitude = geometric(integers, numerator, left.size) // divisor
        negative = integers(0, 2, left.size) == 1
        drawn[left] = np.where(negative, -magnitude, magnitude)
        left = left[negative & (magnitude == 0)]  # zero has one sign
    return drawn


def geometric(integers: Integers, scale: int, count: int) -> np.ndarray:
    """Integers int64 (count,) >= 0, each x with a probability in proportion to exp(-x / scale)."""
    rest, whole = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        rest[left] = integers(0, scale, left.size)
        left = left[~exponential_coins(integers, rest[left], scale)]
    left = np.arange(count)
    while left.size:
        left = left[exponential_coins(integers, np.ones(left.size, dtype=np.int64), 1)]
        whole[left] += 1
    return rest + scale * whole


def exponential_coins(integers: Integers, numerators: np.ndarray, denominator: int) -> np.ndarray:
    """Booleans (B,), each True with probability exp(-numerator / denominator), exactly; numerators int64 of 0, .., denominator."""
    rounds, left = np.ones(len(numerators), dtype=np.int64), np.arange(len(numerators))
    number = 1
    while left.size:
        left = left[integers(0, denominator * number, left.size) < numerators[left]]
        number += 1
        rounds[left] = number
    return rounds % 2 == 1
