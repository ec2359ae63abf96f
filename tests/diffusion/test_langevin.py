"""Langevin sampling: levels and steps by NCSNv2's rules, and samples of a known score."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from workbench.diffusion.langevin import (
    LangevinConfig,
    Score,
    ancestral,
    annealed_langevin,
    largest_level,
    level_ratio,
    noise_levels,
    step_share,
)
from workbench.errors import WorkbenchError

MEAN, VARIANCE = 0.4, 0.09


def test_levels_overlap_by_half_and_span_the_range() -> None:
    for dimensions in (64, 784, 3 * 64 * 64):
        ratio = level_ratio(dimensions)
        shift = math.sqrt(2 * dimensions) * (ratio - 1)
        assert norm.cdf(shift + 3 * ratio) - norm.cdf(shift - 3 * ratio) == pytest.approx(0.5, abs=1e-9)
        levels = noise_levels(LangevinConfig(), dimensions)
        assert levels[0] == largest_level(dimensions) == pytest.approx(2 * math.sqrt(dimensions))
        assert levels[-1] == pytest.approx(0.01)
        assert levels[0] / levels[1] <= ratio * (1 + 1e-9)
    assert 24 <= len(noise_levels(LangevinConfig(), 64)) <= 33, "some 30 levels at 8x8"
    given = noise_levels(LangevinConfig(largest=50, levels=232), 784)
    assert (len(given), given[0]) == (232, 50)


def test_a_largest_level_below_the_smallest_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="above the smallest"):
        noise_levels(LangevinConfig(largest=0.005), 64)


@pytest.mark.parametrize("steps", [1, 5, 50])
def test_a_level_is_left_with_its_own_variance(steps: int) -> None:
    """Noise of the level before, moved by the score of noise alone: x (1 - r) + sqrt(2 r) z, with variances in units of the level's."""
    levels = noise_levels(LangevinConfig(), 64)

    def left(share: float) -> float:
        variance = (levels[0] / levels[1]) ** 2
        for _ in range(steps):
            variance = (1 - share) ** 2 * variance + 2 * share
        return abs(variance - 1)

    share = step_share(LangevinConfig(steps_per_level=steps), levels)
    assert left(share) <= min(left(other) for other in np.linspace(0.01, 0.9, 200)) + 1e-6
    assert left(share) < {1: 0.5, 5: 0.2, 50: 0.04}[steps]
    assert step_share(LangevinConfig(step_share=0.062), levels) == 0.062


def score_of(levels: np.ndarray, variance: float) -> Score:
    """The score of a normal distribution of all pixels alike, noised to a level."""

    def score(x: Tensor, position: int) -> Tensor:
        return (MEAN - x) / (variance + float(levels[position]) ** 2)

    return score


@pytest.mark.parametrize("variance", [0.0, VARIANCE])
@pytest.mark.parametrize("sampler", ["langevin", "ancestral"])
def test_a_known_score_gives_its_own_distribution(sampler: str, variance: float) -> None:
    draw = torch.Generator().manual_seed(0)
    levels = noise_levels(LangevinConfig(), 64)
    x = float(levels[0]) * torch.randn(4000, 1, 4, 4, generator=draw)
    if sampler == "langevin":
        share = step_share(LangevinConfig(steps_per_level=20), levels)
        samples = annealed_langevin(score_of(levels, variance), x, levels.tolist(), share, 20, draw)
    else:
        samples = reverse(x, variance, draw)
    assert float(samples.mean()) == pytest.approx(MEAN, abs=0.01)
    assert float(samples.std()) == pytest.approx(math.sqrt(variance), abs=0.03)


def reverse(x: Tensor, variance: float, draw: torch.Generator) -> Tensor:
    """The reverse steps over levels close enough for their Gaussian to be exact."""
    levels = np.geomspace(16, 0.01, 400)
    return ancestral(score_of(levels, variance), x, levels.tolist(), draw)


def test_what_steers_is_added_with_the_variance_of_the_step() -> None:
    seen: list[tuple[int, float]] = []

    def nothing(x: Tensor, _position: int) -> Tensor:
        return torch.zeros_like(x)

    def steer(x: Tensor, position: int, variance: float) -> Tensor:
        seen.append((position, variance))
        return torch.full_like(x, 3.0)

    def drawn(steered: bool) -> Tensor:
        draw = torch.Generator().manual_seed(1)
        return annealed_langevin(nothing, torch.zeros(2, 1, 2, 2), [2.0, 1.0], 0.1, 2, draw, steer if steered else None)

    assert torch.allclose(drawn(True) - drawn(False), torch.full((2, 1, 2, 2), 12.0), atol=1e-5)
    assert seen == [(0, pytest.approx(0.8)), (0, pytest.approx(0.8)), (1, pytest.approx(0.2)), (1, pytest.approx(0.2))]
    seen.clear()
    ancestral(nothing, torch.zeros(2, 1, 2, 2), [2.0, 1.0], torch.Generator().manual_seed(1), steer)
    assert seen == [(0, pytest.approx(1 * 3 / 4))]
