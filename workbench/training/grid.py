"""Gaussian releases on a public grid: integer sums, and Gaussian noise that is drawn in integers.

The grid of a release is the multiples of its noise's deviation over 2^bits. A release in one go rounds every record's vector towards
zero on that grid, which lengthens no vector, and sums in integers, so that no rounding of a sum adds to the distance between neighbors.
Where sums are rounded instead, as there are too many of them (the sum of a private step's gradients, a second moment), the noise is
widened for it. To the sum x, in grid steps, is added floor(2^bits N): x + floor(2^bits N) = floor(x + 2^bits N) is post-processing of
the Gaussian mechanism in real numbers, whose event the stage states. Nothing of a floating-point normal is left to attack (Mironov 2012).
"""

import math
from dataclasses import dataclass

import numpy as np

from workbench.errors import WorkbenchError
from workbench.training.floored_normals import MOST_BITS, NOISE_BITS

ROUNDING = 2  # steps, in every number, by which the rounding of two neighboring sums may part them
EXACT_STEPS = 2**50  # up to which a rounded sum is off by less than half a step beside its rounding
NORM_MARGIN = 2.0**-30  # above what float64 rounds in the norm of a vector of up to 2^20 numbers
NORM_BITS = 28  # a clipping norm is at least 2^28 steps of the grid of a private step, and at most 2^29
MOST_IN_BATCH = 2**20  # records whose clipped gradients then sum to less than EXACT_STEPS
SUM_ROUNDING = 2.0**-22  # of the clipping norm for each record of a batch: four units in the last place of the longest float32 sum
LEAST_SUM_ROUNDING = 2.0**-14


@dataclass(frozen=True)
class Grid:
    """The public grid of a release of `num_records` vectors' sum, each of norm at most `max_norm`, with noise of `deviation`."""

    deviation: float
    max_norm: float
    num_records: int
    bits: int = NOISE_BITS

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
        """The distance of neighboring grid points: deviation / 2^bits, exactly."""
        return math.ldexp(self.deviation, -self.bits)

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


def widened_deviation(deviation: float, noise_multiplier: float, count: int, bits: int = NOISE_BITS) -> float:
    """The deviation of a release of `count` rounded sums that has `noise_multiplier` as `deviation` has where nothing is rounded.

    Neighbors at most deviation / noise_multiplier apart are, in steps of the wider grid, at most deviation / (noise_multiplier spacing)
    + ROUNDING sqrt(count) apart; that is 2^bits / noise_multiplier, as it has to be.
    """
    share = rounding_share(noise_multiplier, count, bits)
    if share >= 0.5:
        raise WorkbenchError(f"Expected noise that the rounding of {count} sums hardly adds to, got {noise_multiplier:g}. Use less noise.")
    return deviation / (1.0 - share)


def rounding_share(noise_multiplier: float, count: int, bits: int = NOISE_BITS) -> float:
    """The share of noise of `noise_multiplier` that makes up for the rounding of `count` sums to its grid."""
    return noise_multiplier * ROUNDING * math.sqrt(count) * 2.0**-bits


def sum_rounding(expected_batch_size: float) -> float:
    """By which share of the clipping norm C more than C float32 sums of clipped gradients of neighboring batches may differ.

    This is assumed, not proved; the noise is widened by it (docs/proofs.md, section 2, has what was measured).
    """
    return max(LEAST_SUM_ROUNDING, SUM_ROUNDING * expected_batch_size)


def noise_bits(noise_multiplier: float) -> int:
    """How many bits of the deviation a step of the grid of gradients has."""
    return min(max(NORM_BITS + math.ceil(math.log2(noise_multiplier)), 0), MOST_BITS)


def gradient_grid(noise_multiplier: float, max_grad_norm: float, expected_batch_size: float, count: int) -> Grid:
    """Where a private step releases its sum of clipped gradients, `count` numbers in float32.

    The deviation is noise_multiplier max_grad_norm, and what makes up for the rounding to the grid and, as assumed, of the sum.
    """
    bits = noise_bits(noise_multiplier)
    deviation = noise_multiplier * max_grad_norm * (1.0 + sum_rounding(expected_batch_size))
    return Grid(widened_deviation(deviation, noise_multiplier, count, bits), max_grad_norm, MOST_IN_BATCH, bits)
