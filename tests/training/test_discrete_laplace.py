"""Discrete Laplace noise: its exact law, whatever the scale, and what it refuses."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from workbench.errors import WorkbenchError
from workbench.training.discrete_laplace import exponential_coins
from workbench.training.randomness import Randomness


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 400.0])
def test_noise_has_the_stated_law(scale: float) -> None:
    drawn = Randomness.from_seed(5).stream("noise").discrete_laplace(scale, (200, 100)).ravel()
    reach = max(2, round(2 * scale))
    edges = np.unique(np.linspace(-reach, reach, 13).astype(int))
    law = stats.dlaplace(1.0 / scale)
    bins = [(-(10**9), edges[0]), *pairwise(edges), (edges[-1], 10**9)]
    observed = [int(((drawn > low) & (drawn <= high)).sum()) for low, high in bins]
    expected = [float(law.cdf(high) - law.cdf(low)) * drawn.size for low, high in bins]
    assert stats.chisquare(observed, np.array(expected) * drawn.size / sum(expected)).pvalue > 1e-6


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (3, 10), (0, 5)])
def test_coins_fall_as_often_as_an_exponential_says(numerator: int, denominator: int) -> None:
    stream = Randomness.from_seed(2).stream("coins")
    coins = exponential_coins(stream.integers, np.full(20_000, numerator), denominator)
    assert stats.binomtest(int(coins.sum()), 20_000, float(np.exp(-numerator / denominator))).pvalue > 1e-6


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), 2.0**25])
def test_a_scale_that_no_noise_has_is_refused(scale: float) -> None:
    with pytest.raises(WorkbenchError, match="Expected a scale of Laplace noise"):
        Randomness.from_seed(1).stream("noise").discrete_laplace(scale, 3)
