"""The library's dense privacy loss distribution, with numpy where the library loops in Python over every point of the grid."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from numpy.typing import NDArray
from scipy import fft, signal

Floats = NDArray[np.float64]
CHERNOFF_ORDERS = 20  # on either side of 0, over the length of the grid, as in the library


class Pmf(pld_pmf.DensePLDPmf):
    """Probabilities of the losses `lower_loss * interval` and on, and of an infinite loss; pessimistic."""

    @classmethod
    def of_profile(cls, deltas: Floats, first: int, interval: float) -> Self:
        """Connect the dots (Doroshenko et al. 2022, Algorithm 1): at least two falling deltas at losses from `first * interval` on."""
        falls = np.diff(deltas)
        probs = np.empty_like(deltas)
        probs[0] = 1 - deltas[0] + falls[0] / math.expm1(interval)
        probs[1:-1] = (falls[1:] - falls[:-1] * math.exp(interval)) / math.expm1(interval)
        probs[-1] = falls[-1] / math.expm1(-interval)
        return cls(interval, first, np.maximum(0.0, probs), float(deltas[-1]), True)

    @classmethod
    def of(cls, pmf: pld_pmf.PLDPmf) -> Self:
        """The same distribution as one of these."""
        dense = pmf.to_dense_pmf()
        return cls(dense._discretization, dense._lower_loss, dense._probs, dense._infinity_mass, dense._pessimistic_estimate)

    def compose(self, other: pld_pmf.PLDPmf, tail_mass_truncation: float = 0) -> "Pmf":
        """Convolution by transforms; up to half of `tail_mass_truncation` on the left moves up, as much on the right to infinity."""
        self.validate_composable(other)
        other = other.to_dense_pmf()
        probs = signal.fftconvolve(self._probs, other._probs)
        left = _prefix(probs, tail_mass_truncation / 2)
        right = max(len(probs) - _prefix(probs[::-1], tail_mass_truncation / 2), left + 1)
        kept = probs[left:right]
        infinite = self._infinity_mass + other._infinity_mass - self._infinity_mass * other._infinity_mass + np.sum(probs[right:])
        kept[0] += np.sum(probs[:left])
        return Pmf(self._discretization, self._lower_loss + other._lower_loss + left, kept, float(infinite), True)

    def self_compose(self, num_times: int, tail_mass_truncation: float = 1e-15) -> "Pmf":
        """A power of the transform, on the losses outside of which less than `tail_mass_truncation` lies, which goes to infinity."""
        first, last = self._bounds(num_times, tail_mass_truncation)
        length = fft.next_fast_len(max(last - first + 1, self.size), real=True)
        power = np.fft.irfft(np.fft.rfft(self._probs, length) ** num_times, length)
        probs = np.roll(power, -first)[: last - first + 1]
        infinite = tail_mass_truncation - math.expm1(num_times * math.log1p(-self._infinity_mass))
        return Pmf(self._discretization, self._lower_loss * num_times + first, probs, infinite, True)

    def get_epsilon_for_delta(self, delta: float) -> float:
        """The smallest epsilon >= 0 at `delta`; infinite where the infinite loss alone is likelier.

        With U and L the masses above a loss on either side, delta(epsilon) is the largest U - e^epsilon L, so epsilon is the
        largest log((U - delta)/L), where L underflows the loss itself.
        """
        if self._infinity_mass > delta:
            return math.inf
        losses, probs = self._above(0.0)
        upper = np.cumsum(np.append(self._infinity_mass, probs))[1:] - delta
        beyond = upper > 0
        if not beyond.any():
            return 0.0
        lower = np.cumsum(probs * np.exp(-losses))[beyond]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            crossings = np.where(lower > 0, np.log(upper[beyond] / lower), math.inf)
        return max(0.0, float(np.max(np.minimum(crossings, losses[beyond]))))

    def get_delta_for_epsilon(self, epsilon: float | Sequence[float]) -> float | Floats:
        """delta at one epsilon, or at ascending ones."""
        if isinstance(epsilon, float | int):
            return super().get_delta_for_epsilon(epsilon)  # pyright: ignore[reportReturnType]
        values = np.asarray(epsilon, dtype=np.float64)
        losses, probs = self._above(float(values[0]))
        upper = np.cumsum(np.append(self._infinity_mass, probs))
        lower = np.cumsum(np.append(0.0, probs * np.exp(-losses)))
        above = np.searchsorted(-losses, -values)  # how many losses are larger
        return upper[above] - np.exp(np.minimum(values, 700.0)) * lower[above]

    def _above(self, least: float) -> tuple[Floats, Floats]:
        """The losses above `least`, falling, and their probabilities."""
        last = self._lower_loss + self.size - 1
        steps = np.arange(last, max(self._lower_loss, math.floor(least / self._discretization)) - 1, -1, dtype=np.float64)
        losses = steps * self._discretization
        losses = losses[losses > least]
        return losses, self._probs[::-1][: len(losses)]

    def _bounds(self, num_times: int, tail: float) -> tuple[int, int]:
        """First and last index of the composed grid: Chernoff bounds of the rest, which holds less than `tail`."""
        first, last = 0, (self.size - 1) * num_times
        for sign in (-1, 1):
            growth = np.exp(sign * np.arange(self.size) / self.size)
            weighted = self._probs
            for order in range(1, CHERNOFF_ORDERS + 1):
                weighted = weighted * growth
                bound = (num_times * math.log(np.sum(weighted)) + math.log(2 / tail)) * self.size / order
                first, last = (max(first, math.floor(-bound)), last) if sign < 0 else (first, min(last, math.ceil(bound)))
        return first, last


def dense(distribution: PrivacyLossDistribution) -> PrivacyLossDistribution:
    """A distribution of the library's with both of its directions as `Pmf`."""
    remove = Pmf.of(distribution._pmf_remove)  # pyright: ignore[reportPrivateUsage]
    if distribution._symmetric:  # pyright: ignore[reportPrivateUsage]
        return PrivacyLossDistribution(remove)
    return PrivacyLossDistribution(remove, Pmf.of(distribution._pmf_add))  # pyright: ignore[reportPrivateUsage]


def _prefix(probs: Floats, threshold: float) -> int:
    """How many of the first probabilities sum to no more than `threshold`; none for 0."""
    over = np.cumsum(probs) > threshold
    return (int(np.argmax(over)) if over.any() else len(probs)) if threshold > 0 else 0
