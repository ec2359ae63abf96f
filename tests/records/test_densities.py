"""Numbers within ranges: every range keeps its share, the density is continuous where shares are, and jumps at heaps."""

import numpy as np
import pytest

from workbench.records.densities import Density

EDGES = np.array([0.0, 1.0, 3.0, 4.0, 8.0])


@pytest.mark.parametrize("shares", [[0.1, 0.4, 0.3, 0.2], [0.0, 1.0, 0.0, 0.0], [0.9, 0.05, 0.04, 0.01], [0.0, 0.0, 0.0, 0.0]])
def test_every_range_keeps_its_share_and_no_density_is_negative(shares: list[float]) -> None:
    density = Density.of(np.array(shares), EDGES)
    masses = np.diff(EDGES) * (density.lower + 2 * density.middle + density.upper) / 4
    np.testing.assert_allclose(masses, shares, atol=1e-12)
    assert min(part.min() for part in (density.lower, density.middle, density.upper)) >= 0


def test_sides_meet_where_shares_are_like_and_stand_apart_at_a_heap() -> None:
    smooth = Density.of(np.array([0.1, 0.4, 0.3, 0.2]), EDGES)
    np.testing.assert_allclose(smooth.upper[:2], smooth.lower[1:3])
    heap = Density.of(np.array([0.9, 0.05, 0.04, 0.01]), EDGES)
    assert (heap.upper[0], heap.lower[1]) == (0.9, 0.025)


def test_draws_follow_the_density() -> None:
    """Of shares that fall in a line, draws are those of one triangle, to four deviations of a mean; even ones would miss by more."""
    edges, draw = np.array([0.0, 1.0, 2.0, 3.0]), np.random.default_rng(0)
    shares = np.array([5.0, 3.0, 1.0]) / 9  # of density (6 - 2 x) / 9
    ranges = draw.choice(3, 90_000, p=shares)
    numbers = Density.of(shares, edges).draw(ranges, draw)
    assert np.array_equal(np.floor(numbers), ranges)
    middle = numbers[ranges == 1] - 1
    assert middle.mean() == pytest.approx(4 / 9, abs=4 * 0.29 / len(middle) ** 0.5)
    assert abs(middle.mean() - 0.5) > 0.04


def test_a_range_without_numbers_can_still_be_drawn_from() -> None:
    numbers = Density.of(np.zeros(2), np.array([0.0, 1.0, 2.0])).draw(np.array([1] * 100), np.random.default_rng(0))
    assert ((numbers >= 1) & (numbers < 2)).all()
