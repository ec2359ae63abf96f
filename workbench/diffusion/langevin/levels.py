"""Noise levels and step sizes by the rules of NCSNv2 (Song and Ermon 2020, Techniques 1, 2 and 4). No torch."""

import math

import numpy as np

from workbench.diffusion.langevin.config import LangevinConfig
from workbench.errors import WorkbenchError

OVERLAP = 0.5  # the chance that a sample of a level is a usual one of the next


def largest_level(num_dimensions: int) -> float:
    """The largest distance of two records in [-1, 1]^d (Technique 1): public, unlike that of the records at hand."""
    return 2.0 * math.sqrt(num_dimensions)


def level_ratio(num_dimensions: int) -> float:
    """The ratio g of neighbouring levels: Phi(sqrt(2d)(g-1) + 3g) - Phi(sqrt(2d)(g-1) - 3g) = 0.5 (Technique 2)."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    def excess(ratio: float) -> float:
        shift = math.sqrt(2 * num_dimensions) * (ratio - 1)
        return float(norm.cdf(shift + 3 * ratio) - norm.cdf(shift - 3 * ratio)) - OVERLAP

    return float(brentq(excess, 1.0, 100.0, xtol=1e-12))  # pyright: ignore[reportArgumentType]


def noise_levels(config: LangevinConfig, num_dimensions: int) -> np.ndarray:
    """Falling levels in geometric progression, float64 (L,), for records of `num_dimensions` values in [-1, 1]."""
    largest = config.largest or largest_level(num_dimensions)
    if largest <= config.smallest:
        raise WorkbenchError(f"Expected a largest noise level above the smallest, {config.smallest:g}, got {largest:g}.")
    spread = math.log(largest / config.smallest)
    count = config.levels or 1 + math.ceil(spread / math.log(level_ratio(num_dimensions)))
    return np.geomspace(largest, config.smallest, max(count, 2))


def step_share(config: LangevinConfig, levels: np.ndarray) -> float:
    """The step over the level's variance: as set, or that after which the variance is nearest to the level's own (Technique 4).

    A record that comes from the level before, with g^2 times the variance, has after T steps of share r the variance
    (1-r)^(2T) (g^2 - v) + v of the level's, v = 2 r / (1 - (1-r)^2), if its score is that of noise alone.
    """
    if config.step_share is not None:
        return config.step_share
    ratio, shares = float(levels[0] / levels[1]), np.geomspace(1e-4, 0.9, 4000)
    limits = 2 * shares / (1 - (1 - shares) ** 2)
    variances = (1 - shares) ** (2 * config.steps_per_level) * (ratio**2 - limits) + limits
    return float(shares[np.argmin(np.abs(variances - 1))])
