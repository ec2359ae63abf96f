"""Schedules against closed forms."""

import numpy as np
import pytest

from workbench.diffusion import SCHEDULES, DiffusionConfig, NoiseSchedule, build_schedule, cosine_betas, linear_betas
from workbench.diffusion.schedules import SPACINGS, Spacing
from workbench.errors import WorkbenchError


def test_linear_schedule_has_the_known_signal_at_step_900() -> None:
    schedule = NoiseSchedule(linear_betas(1000))
    assert schedule.alphas_cumprod[900] == pytest.approx(2.752e-4, rel=1e-4)
    assert schedule.betas[1] == 1e-4
    assert schedule.betas[1000] == pytest.approx(2e-2, abs=1e-15)


def test_linear_alphas_cumprod_is_the_running_product() -> None:
    betas = [1e-4 + (2e-2 - 1e-4) * index / 999 for index in range(1000)]
    product = 1.0
    schedule = NoiseSchedule(linear_betas(1000))
    for t, beta in enumerate(betas, start=1):
        product *= 1.0 - beta
        assert schedule.alphas_cumprod[t] == pytest.approx(product, rel=1e-10)


def test_cosine_alphas_cumprod_is_the_squared_cosine_before_the_cap() -> None:
    schedule = NoiseSchedule(cosine_betas(1000))
    t = np.arange(0, 990)
    expected = np.cos((t / 1000 + 0.008) / 1.008 * np.pi / 2) ** 2 / np.cos(0.008 / 1.008 * np.pi / 2) ** 2
    np.testing.assert_allclose(schedule.alphas_cumprod[:990], expected, rtol=1e-9)
    assert schedule.betas.max() == 0.999


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_starts_clean_and_decreases(name: str) -> None:
    schedule = NoiseSchedule(SCHEDULES[name](500))
    assert schedule.timesteps == 500
    assert schedule.betas.shape == schedule.alphas_cumprod.shape == (501,)
    assert schedule.betas[0] == 0.0
    assert schedule.alphas_cumprod[0] == 1.0
    assert np.all(np.diff(schedule.alphas_cumprod) < 0.0)
    assert schedule.alphas_cumprod.dtype == np.float64


def test_schedule_cannot_be_changed() -> None:
    schedule = NoiseSchedule(linear_betas(10))
    with pytest.raises(ValueError, match="read-only"):
        schedule.alphas_cumprod[3] = 1.0


@pytest.mark.parametrize("betas", [np.zeros(3), np.ones(3), np.array([0.1, np.nan]), np.zeros((2, 2)), np.zeros(0)])
def test_betas_outside_the_open_unit_interval_are_refused(betas: np.ndarray) -> None:
    with pytest.raises(WorkbenchError, match="Expected betas"):
        NoiseSchedule(betas)


@pytest.mark.parametrize(("steps", "expected"), [(1, [10, 0]), (2, [10, 5, 0]), (4, [10, 8, 5, 3, 0]), (10, list(range(10, -1, -1)))])
def test_inference_timesteps_are_even_and_reach_both_ends(steps: int, expected: list[int]) -> None:
    assert NoiseSchedule(linear_betas(10)).inference_timesteps(steps) == expected


def test_quadratic_timesteps_are_closer_towards_the_end() -> None:
    schedule = NoiseSchedule(linear_betas(1000))
    assert schedule.inference_timesteps(4, "quadratic") == [1000, 563, 250, 63, 0]
    assert schedule.inference_timesteps(4, "quadratic", start=100) == [100, 56, 25, 6, 0]


@pytest.mark.parametrize("spacing", SPACINGS)
def test_inference_timesteps_never_repeat(spacing: Spacing) -> None:
    schedule = NoiseSchedule(linear_betas(97))
    for steps in range(1, 98):
        visited = schedule.inference_timesteps(steps, spacing)
        assert visited[0] == 97
        assert visited[-1] == 0
        assert np.all(np.diff(visited) < 0)


@pytest.mark.parametrize("steps", [0, 11])
def test_too_many_or_no_inference_steps_are_refused(steps: int) -> None:
    with pytest.raises(WorkbenchError, match=r"num_inference_steps in 1\.\.10"):
        NoiseSchedule(linear_betas(10)).inference_timesteps(steps)


@pytest.mark.parametrize("start", [0, 11])
def test_a_start_that_is_no_noisy_time_step_is_refused(start: int) -> None:
    with pytest.raises(WorkbenchError, match=r"a time in 1\.\.10"):
        NoiseSchedule(linear_betas(10)).inference_timesteps(1, start=start)


def test_a_schedule_that_does_not_end_in_noise_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="ends in noise"):
        build_schedule(DiffusionConfig(schedule="linear", timesteps=100))
    assert build_schedule(DiffusionConfig(schedule="cosine", timesteps=100)).alphas_cumprod[-1] < 1e-4
