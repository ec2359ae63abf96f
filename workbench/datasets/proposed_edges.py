"""Edges of ranges that suit a column's numbers: round ones, closer where the numbers are, and every heap a category of its own."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workbench.errors import WorkbenchError

RANGES = 5
STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 20)  # widths of a range, times a power of ten
DIGITS = range(12, 18)
FEWEST_COUNTS = 3  # different whole numbers, from which on they are counts
FEWEST_NUMBERS = 20  # different ones, from which on a column of numbers is cut into ranges
HEAP = 0.1  # of a column's numbers: one that so many are is a heap
UNEVEN = 0.7  # of the other numbers in one of five even ranges: they are skewed
ORDERS = 50.0  # times the least of them: numbers above 0 that go so far are cut in logarithmic steps
SMALL = 0.05  # of numbers are smaller, whatever their signs, where logarithmic steps on both sides of 0 begin
LOGARITHMIC = (1, 2, 5)


class Ranges(NamedTuple):
    """Edges of ranges, and the numbers that are a category of their own beside these, both rising."""

    edges: tuple[float, ...]
    points: tuple[float, ...] = ()


def suited_ranges(counts: Mapping[float, int]) -> Ranges:
    """Ranges for numbers that occur so often, FEWEST_NUMBERS different ones at least; every heap is apart from them."""
    points = heaps(counts)
    return Ranges(spread_edges({value: count for value, count in counts.items() if value not in points}), points)


def heaps(counts: Mapping[float, int]) -> tuple[float, ...]:
    """The numbers that so many are, rising: ten at most."""
    least = HEAP * sum(counts.values())
    return tuple(sorted(value for value, count in counts.items() if count >= least))


def spread_edges(counts: Mapping[float, int]) -> tuple[float, ...]:
    """Five even ranges; logarithmic ones, on both sides of 0, or round quantiles where most numbers would be in one of these."""
    low, high = min(counts), max(counts)
    even = round_edges(low, high)
    if shares_between(even, counts).max() <= UNEVEN:
        return even
    if low > 0 and high >= ORDERS * low:
        return logarithmic_edges(low, high)
    numbers = np.repeat(list(counts), list(counts.values()))
    if low <= 0 and max(-low, high) >= ORDERS * (least := float(np.quantile(np.abs(numbers[numbers != 0]), SMALL))):
        below, above = (logarithmic_edges(min(least, end), end) if end > 0 else () for end in (-low, high))
        return (*(-edge for edge in reversed(below)), 0.0, *above)
    inner = np.quantile(numbers, np.arange(1, RANGES) / RANGES)
    rounded = {float(f"{value:.2g}") for value in inner}
    return (even[0], *sorted(value for value in rounded if even[0] < value < even[-1]), even[-1])


def shares_between(edges: Sequence[float], counts: Mapping[float, int]) -> np.ndarray:
    """The share of each range, the last with its upper edge."""
    counted = np.histogram(np.array(list(counts)), np.array(edges), weights=np.array(list(counts.values()), dtype=np.float64))[0]
    return counted / sum(counts.values())


def logarithmic_edges(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 times the powers of ten from at most `low`, above 0, to at least `high`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [float(f"{step}e{power}") for power in powers for step in LOGARITHMIC]
    first = max(edge for edge in steps if edge <= low)
    last = min(edge for edge in steps if edge >= high)
    return tuple(edge for edge in steps if first <= edge <= last)


def are_counts(values: Sequence[float]) -> bool:
    """Whether these are whole numbers of 0 or more, three different ones at least: two are rather a yes and a no."""
    return len(set(values)) >= FEWEST_COUNTS and all(value >= 0 and value.is_integer() for value in values)


def count_ranges(counts: Mapping[float, int]) -> Ranges:
    """Each count from the least to the greatest a range of its own, or five round ranges beside heaps where these are many."""
    low, high = int(min(counts)), int(max(counts))
    if high - low >= FEWEST_NUMBERS:
        return Ranges(round_edges(low, high), heaps(counts))
    return Ranges(tuple(float(edge) for edge in range(low, high + 2)))


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """The edges of five ranges of equal width from at most `low` to at least `high`, whole multiples of one of STEPS.

    Told by as few digits as tell them apart, DIGITS at least: of large numbers that lie close, the last ones differ. Refuses numbers
    that no float lies between, and some near the largest float.
    """
    width = high / RANGES - low / RANGES  # the difference itself may be beyond all floats
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in STEPS if math.floor(low / (factor * power)) + RANGES >= high / (factor * power))
    first = math.floor(low / step)
    attempts = (tuple(float(f"{(first + place) * step:.{digits}g}") for place in range(RANGES + 1)) for digits in DIGITS)
    for edges in attempts:
        if len(set(edges)) > RANGES and -math.inf < edges[0] <= low and high <= edges[-1] < math.inf:
            return edges
    raise WorkbenchError("Expected numbers that round edges tell apart, got some that lie too close or too far out. Leave the column out.")
