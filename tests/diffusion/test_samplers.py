"""Samplers against data whose exact denoiser and moments are known: points, Gaussians and a mixture of Gaussians."""

from collections.abc import Callable
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from workbench.diffusion import SAMPLERS, SCHEDULES, DiffusionConfig, GaussianDiffusion, SamplerConfig, build_diffusion, generate
from workbench.errors import WorkbenchError

MEANS = torch.tensor([-0.6, 0.5], dtype=torch.float64)
STDS = torch.tensor([0.1, 0.2], dtype=torch.float64)
WEIGHTS = torch.tensor([0.3, 0.7], dtype=torch.float64)
SETTINGS = [("ddpm", 1.0), ("ddim", 1.0), ("ddim", 0.5), ("ddim", 0.0)]
SOLVER = [("dpm-solver++", 1.0), ("dpm-solver++", 0.5), ("dpm-solver++", 0.0)]


def mixture_denoiser(
    diffusion: GaussianDiffusion, means: Tensor = MEANS, stds: Tensor = STDS, weights: Tensor = WEIGHTS
) -> Callable[[Tensor, Tensor], Tensor]:
    """E[noise | x_t] for pixels drawn independently from a mixture of Gaussians."""

    means, stds, weights = (values.reshape(-1, 1, 1, 1, 1) for values in (means, stds, weights))  # before all else: softmax is quick there

    def denoise(x: Tensor, t: Tensor) -> Tensor:
        signal, noise = diffusion.scales(t, x)
        variances = signal**2 * stds**2 + noise**2
        apart = x - signal * means
        logits = weights.log() - 0.5 * variances.log() - apart**2 * (0.5 / variances)
        return (logits.softmax(dim=0) * apart * (noise / variances)).sum(dim=0)

    return denoise


@pytest.fixture
def diffusion() -> GaussianDiffusion:
    return build_diffusion(DiffusionConfig())


def even(steps: int, begin: int = 1000) -> list[int]:
    return build_diffusion(DiffusionConfig()).schedule.inference_timesteps(steps, "even", begin)


def quadratic(steps: int, begin: int = 1000) -> list[int]:
    return build_diffusion(DiffusionConfig()).schedule.inference_timesteps(steps, "quadratic", begin)


def start(count: int, seed: int = 0) -> tuple[Tensor, torch.Generator]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 1, 2, 2, generator=generator, dtype=torch.float64), generator


@pytest.mark.parametrize(("name", "eta"), SETTINGS + SOLVER)
def test_a_mixture_comes_back_with_its_weights_means_and_spreads(name: str, eta: float, diffusion: GaussianDiffusion) -> None:
    x, generator = start(2000)
    samples = SAMPLERS[name](mixture_denoiser(diffusion), x, diffusion, even(1000), eta, generator, clip_x_start=False).flatten()
    lower = samples < -0.2  # halfway in standard deviations: under 1e-3 of either component lies beyond
    assert lower.double().mean() == pytest.approx(0.3, abs=0.015)
    assert samples[lower].mean() == pytest.approx(-0.6, abs=0.01)
    assert samples[~lower].mean() == pytest.approx(0.5, abs=0.015)
    assert samples[lower].std() == pytest.approx(0.1, rel=0.06)
    assert samples[~lower].std() == pytest.approx(0.2, rel=0.06)


def linear_gaussian_variance(diffusion: GaussianDiffusion, steps: int, eta: float, std: float) -> float:
    """The exact variance of DDIM samples of N(0, std^2): each step is linear in x, so the variance follows a recursion."""
    abar = diffusion.schedule.alphas_cumprod
    variance = 1.0
    for now, then in pairwise(even(steps)):
        predicted_noise = np.sqrt(1 - abar[now]) / (abar[now] * std**2 + 1 - abar[now])
        predicted_x = (1 - np.sqrt(1 - abar[now]) * predicted_noise) / np.sqrt(abar[now])
        sigma_squared = eta**2 * (1 - abar[then]) / (1 - abar[now]) * (1 - abar[now] / abar[then])
        slope = np.sqrt(abar[then]) * predicted_x + np.sqrt(1 - abar[then] - sigma_squared) * predicted_noise
        variance = slope**2 * variance + sigma_squared
    return float(variance)


@pytest.mark.parametrize(("name", "eta"), SETTINGS)
@pytest.mark.parametrize("steps", [10, 1000])
def test_a_gaussian_has_the_variance_of_the_exact_recursion(name: str, eta: float, steps: int, diffusion: GaussianDiffusion) -> None:
    one = torch.ones(1, dtype=torch.float64)
    denoise = mixture_denoiser(diffusion, means=0.0 * one, stds=0.5 * one, weights=one)
    x, generator = start(5000, seed=1)
    samples = SAMPLERS[name](denoise, x, diffusion, even(steps), eta, generator, clip_x_start=False)
    expected = linear_gaussian_variance(diffusion, steps, eta, 0.5)
    assert samples.var() == pytest.approx(expected, rel=5 * (2 / 20_000) ** 0.5)
    if steps == 1000:
        assert expected == pytest.approx(0.25, rel=0.02)


def test_ddim_with_eta_one_is_ancestral_sampling(diffusion: GaussianDiffusion) -> None:
    denoise = mixture_denoiser(diffusion)
    for steps in (7, 1000):
        x, first = start(16)
        _, second = start(16)
        by_ddpm = SAMPLERS["ddpm"](denoise, x, diffusion, even(steps), 1.0, first)
        by_ddim = SAMPLERS["ddim"](denoise, x, diffusion, even(steps), 1.0, second)
        torch.testing.assert_close(by_ddim, by_ddpm, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("name", "eta"), SETTINGS + SOLVER)
def test_a_single_record_is_found_exactly(name: str, eta: float, diffusion: GaussianDiffusion) -> None:
    record = torch.tensor([[[[-1.0, 0.25], [0.5, 1.0]]]], dtype=torch.float64)

    def denoise(x: Tensor, t: Tensor) -> Tensor:
        signal, noise = diffusion.scales(t, x)
        return (x - signal * record) / noise

    x, generator = start(8)
    samples = SAMPLERS[name](denoise, x, diffusion, even(20), eta, generator)
    torch.testing.assert_close(samples, record.expand_as(samples), rtol=0, atol=1e-9)


def error_of_a_gaussian(name: str, times: list[int], diffusion: GaussianDiffusion, std: float = 0.5) -> float:
    """The largest distance to where the probability-flow equation leads for N(0, std^2): x scaled to the spread of the data."""
    one = torch.ones(1, dtype=torch.float64)
    denoise = mixture_denoiser(diffusion, means=0.0 * one, stds=std * one, weights=one)
    x, generator = start(50)
    solution = SAMPLERS[name](denoise, x, diffusion, times, 0.0, generator, clip_x_start=False)
    abar = float(diffusion.schedule.alphas_cumprod[times[0]])
    return float((solution - x * std / (abar * std**2 + 1.0 - abar) ** 0.5).abs().max())


@pytest.mark.parametrize("begin", [500, 1000])
def test_the_solver_is_of_second_order_and_ddim_of_first(begin: int, diffusion: GaussianDiffusion) -> None:
    def error(name: str, steps: int) -> float:
        return error_of_a_gaussian(name, quadratic(steps, begin), diffusion)

    assert error("dpm-solver++", 20) / error("dpm-solver++", 80) > 3.5**2
    assert 1.8**2 < error("ddim", 20) / error("ddim", 80) < 2.2**2
    assert error("dpm-solver++", 20) < 0.3 * error("ddim", 20)


def test_fifteen_quadratic_steps_of_the_solver_end_nearer_than_fifty_even_ones_of_ddim(
    diffusion: GaussianDiffusion,
) -> None:
    def end(name: str, times: list[int]) -> Tensor:
        x, generator = start(1000)
        return SAMPLERS[name](mixture_denoiser(diffusion), x, diffusion, times, 0.0, generator, clip_x_start=False)

    exact = end("ddim", even(1000))
    solver, ddim = end("dpm-solver++", quadratic(15)), end("ddim", even(50))
    assert (solver - exact).abs().mean() < (ddim - exact).abs().mean() < 0.03


def test_the_solver_with_fresh_noise_draws_the_mixture_in_few_steps(diffusion: GaussianDiffusion) -> None:
    x, generator = start(4000)
    samples = SAMPLERS["dpm-solver++"](mixture_denoiser(diffusion), x, diffusion, quadratic(40), 1.0, generator, clip_x_start=False)
    lower = samples < -0.2
    assert lower.double().mean() == pytest.approx(0.3, abs=0.02)
    assert samples[lower].std() == pytest.approx(0.1, rel=0.1)
    assert samples[~lower].std() == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize("name", ["ddim", "dpm-solver++"])
def test_eta_zero_draws_nothing(name: str, diffusion: GaussianDiffusion) -> None:
    x, generator = start(4)
    before = generator.get_state()
    SAMPLERS[name](mixture_denoiser(diffusion), x, diffusion, even(20), 0.0, generator)
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("name", SAMPLERS)
def test_randomness_comes_from_the_generator_alone(name: str, diffusion: GaussianDiffusion) -> None:
    results = []
    for seed in (1, 1, 2):
        x, _ = start(4)
        torch.manual_seed(len(results))
        generator = torch.Generator().manual_seed(seed)
        results.append(SAMPLERS[name](mixture_denoiser(diffusion), x, diffusion, even(20), 1.0, generator))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


@pytest.mark.parametrize("name", SAMPLERS)
def test_clipping_keeps_images_in_range_and_every_step_is_seen(name: str, diffusion: GaussianDiffusion) -> None:
    x, generator = start(4)
    seen: list[int] = []
    samples = SAMPLERS[name](lambda x, t: -x, x, diffusion, even(12), 1.0, generator, on_step=lambda step, _: seen.append(step))
    assert samples.abs().max() <= 1.0
    assert seen == list(range(1, 13))


def test_generate_agrees_for_both_predictions() -> None:
    samples = []
    for prediction in ("epsilon", "v"):
        diffusion = build_diffusion(DiffusionConfig.model_validate({"prediction": prediction}))
        denoise = mixture_denoiser(diffusion)

        def model(
            x: Tensor,
            t: Tensor,
            labels: Tensor | None,
            diffusion: GaussianDiffusion = diffusion,
            denoise: Callable[[Tensor, Tensor], Tensor] = denoise,
        ) -> Tensor:
            noise = denoise(x, t)
            signal_scale, noise_scale = diffusion.scales(t, x)
            return diffusion.target((x - noise_scale * noise) / signal_scale, noise, t)

        x, generator = start(16)
        samples.append(generate(model, x, diffusion, SamplerConfig(num_inference_steps=25), generator))
    torch.testing.assert_close(samples[0], samples[1], rtol=0, atol=1e-8)


def test_impossible_settings_are_refused(diffusion: GaussianDiffusion) -> None:
    x, generator = start(1)
    with pytest.raises(WorkbenchError, match="eta 1 for the ddpm"):
        SAMPLERS["ddpm"](lambda x, t: x, x, diffusion, even(10), 0.5, generator)
    for name in ("ddim", "dpm-solver++"):
        with pytest.raises(WorkbenchError, match="eta in"):
            SAMPLERS[name](lambda x, t: x, x, diffusion, even(10), 1.5, generator)
    with pytest.raises(ValueError, match="eta 1 for the ddpm"):
        SamplerConfig(name="ddpm", eta=0.0)


def test_the_choices_of_the_fields_are_the_registries() -> None:
    assert set(get_args(SamplerConfig.model_fields["name"].annotation)) == set(SAMPLERS)
    assert set(get_args(DiffusionConfig.model_fields["schedule"].annotation)) == set(SCHEDULES)
