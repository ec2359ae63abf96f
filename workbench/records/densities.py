"""What numbers within the ranges of a column are like, as far as the ranges' shares tell: a density that is linear piece by piece."""

from dataclasses import dataclass
from typing import Self

import numpy as np

JUMP = 4.0  # times: where one range is so much denser than the next, the density jumps at the edge between them


@dataclass(frozen=True)
class Density:
    """Two linear pieces a range: density at its lower edge, middle and upper edge, (ranges,) each, between `edges` (ranges + 1,).

    Every range keeps its share. At an edge both sides meet, at what lies on the line between the ranges' own densities, unless these are
    JUMP times apart (a heap, or a gap), or a side would have to fall below 0 for its share.
    """

    edges: np.ndarray
    lower: np.ndarray
    middle: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, shares: np.ndarray, edges: np.ndarray) -> Self:
        """Of the shares (ranges,) of all numbers; the ranges may have any widths above 0."""
        widths = np.diff(edges)
        height = shares / widths
        meeting = (height[:-1] * widths[1:] + height[1:] * widths[:-1]) / (widths[:-1] + widths[1:])
        apart = np.maximum(height[:-1], height[1:]) > JUMP * np.minimum(height[:-1], height[1:])
        lower, upper = height.copy(), height.copy()
        lower[1:] = np.where(apart, height[1:], np.minimum(meeting, 2 * height[1:]))
        upper[:-1] = np.where(apart, height[:-1], np.minimum(meeting, 2 * height[:-1]))
        return cls(edges, lower, np.maximum(2 * height - (lower + upper) / 2, 0.0), upper)

    def draw(self, ranges: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """A number in each of these ranges (N,), below its upper edge: float64 (N,)."""
        lower, middle, upper = self.lower[ranges], self.middle[ranges], self.upper[ranges]
        first, second = lower + middle, middle + upper  # masses of the halves, over the same width
        total = np.where(first + second > 0, first + second, 1.0)
        in_first = generator.random(len(ranges)) * total < first
        start, end = np.where(in_first, lower, middle), np.where(in_first, middle, upper)
        place = _inverse(start, end, generator.random(len(ranges)))
        low, width = self.edges[ranges], np.diff(self.edges)[ranges]
        return np.minimum(low + width * (np.where(in_first, 0.0, 0.5) + place / 2), np.nextafter(low + width, low))


def _inverse(start: np.ndarray, end: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Where on 0 to 1 a density that goes from `start` to `end` has so much below it; even where both are 0."""
    root = np.sqrt(start**2 + chance * (end**2 - start**2))
    steep = start + root
    return np.where(steep > 0, chance * (start + end) / np.where(steep > 0, steep, 1.0), chance)
