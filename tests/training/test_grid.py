"""Releases on a grid: no vector outgrows it, sums that are rounded to it have wider noise, and nothing of a sum is in the last bits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.training.grid import (
    LEAST_SUM_ROUNDING,
    MOST_IN_BATCH,
    ROUNDING,
    Grid,
    gradient_grid,
    sum_rounding,
    widened_deviation,
)
from workbench.training.randomness import Randomness

RANDOMNESS = Randomness.from_seed(5)


@pytest.mark.parametrize("deviation", [1e-3, 2.0, 37.3, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_vector_is_longer_on_the_grid(deviation: float, kind: type) -> None:
    grid = Grid(deviation, max_norm=1.0, num_records=1000)
    vectors = np.random.default_rng(0).standard_normal((40, 300)).astype(kind)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)  # of norm 1 up to rounding, half of them above it
    vectors[0] *= 100
    vectors[1] *= 0.25
    steps = grid.truncated(vectors)
    longest = Fraction(1) / Fraction(grid.spacing)
    assert all(sum(int(step) ** 2 for step in row) <= longest**2 for row in steps)
    assert np.abs(grid.values(steps[1:]) - vectors[1:]).max() <= grid.spacing + 1e-6
    assert grid.spacing * 2**30 == deviation


def test_a_release_lies_on_the_grid_and_is_the_sum_and_the_noise() -> None:
    grid = Grid(3.7, max_norm=1.0, num_records=10**6)
    total = np.array([[0, 1, -1], [2**46, -(2**46), 12345]])
    released = RANDOMNESS.release("release", 1, total, grid)
    noise = RANDOMNESS.stream("release", 1).floored_normal((2, 3))
    assert np.array_equal(released, (total + noise) * grid.spacing)
    steps = [Fraction(value) / Fraction(grid.spacing) for value in released.ravel().tolist()]
    assert [round(step) for step in steps] == (total + noise).ravel().tolist()
    assert max(abs(step - round(step)) for step in steps) < 2**-5  # the product's last bit


def test_what_a_grid_cannot_hold_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="larger noise multiplier"):
        Grid(2e-3, max_norm=1.0, num_records=2**24)
    for deviation in (0.0, math.nan, math.inf):
        with pytest.raises(WorkbenchError, match="noise deviation"):
            Grid(deviation, max_norm=1.0, num_records=10)
    with pytest.raises(WorkbenchError, match="finite vectors"):
        Grid(1.0, max_norm=1.0, num_records=10).truncated(np.array([[np.nan, 1.0]]))


@pytest.mark.parametrize("noise_multiplier", [1e-3, 0.3, 1.0, 17.0, 1e4, 1e6])
@pytest.mark.parametrize("count", [1, 1_624_066, 10**9])
def test_a_private_steps_noise_hides_what_rounding_adds(noise_multiplier: float, count: int) -> None:
    """In steps of the grid, neighboring sums are C + assumed rounding + ROUNDING a number apart; the noise is noise_multiplier of that."""
    norm, batch = 0.37, 4096.0
    grid = gradient_grid(noise_multiplier, norm, batch, count)
    apart = norm * (1 + sum_rounding(batch)) / grid.spacing + ROUNDING * math.sqrt(count)
    assert 2.0**grid.bits / apart == pytest.approx(noise_multiplier, rel=1e-9)
    assert 1 < grid.deviation / (noise_multiplier * norm) < 1.003
    assert 2**27 < norm / grid.spacing < 2**30
    assert grid.rounded(np.array([MOST_IN_BATCH * norm]))[0] < 2**50
    assert widened_deviation(1.0, noise_multiplier, 1, 40) < widened_deviation(1.0, noise_multiplier, 1, 39)


def test_the_assumed_rounding_grows_with_the_batch() -> None:
    assert sum_rounding(1.0) == LEAST_SUM_ROUNDING == sum_rounding(256.0)
    assert sum_rounding(4096.0) == 2.0**-10


def test_neighboring_sums_round_to_steps_that_are_hardly_farther_apart() -> None:
    grid, draw = gradient_grid(3.0, 1.0, 100.0, 10_000), np.random.default_rng(0)
    sums = (100 * draw.standard_normal(10_000) / 100).astype(np.float32).astype(np.float64)
    moved = draw.standard_normal(10_000)
    moved /= np.linalg.norm(moved)
    apart = np.linalg.norm(grid.rounded(sums + moved) - grid.rounded(sums))
    assert apart <= np.linalg.norm(moved) / grid.spacing + ROUNDING * 100
    assert np.abs(grid.rounded(sums) - sums / grid.spacing).max() <= 0.5
