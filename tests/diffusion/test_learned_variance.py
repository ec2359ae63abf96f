"""Learned variances: the variational bound against closed forms, and the sampler against a model that knows the record."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from workbench.diffusion import DiffusionConfig, SamplerConfig, build_diffusion
from workbench.diffusion.guidance import Model
from workbench.diffusion.learned_variance import LearnedVariances, discretised_log_likelihood, learned_ancestral

DIFFUSION = build_diffusion(DiffusionConfig(schedule="cosine", timesteps=40))
VARIANCES = LearnedVariances(DIFFUSION)
BETAS, ABAR = DIFFUSION.schedule.betas, DIFFUSION.schedule.alphas_cumprod


def posterior_variance(t: int) -> float:
    """beta~_t, written out once more."""
    return float(BETAS[t] * (1 - ABAR[t - 1]) / (1 - ABAR[t]))


def oracle(x_start: Tensor, v: float, off: float = 0.0) -> Model:
    """A model that knows the record, or believes in one `off` away, and says `v` everywhere."""

    def model(x: Tensor, t: Tensor, _labels: Tensor | None) -> Tensor:
        signal, spread = DIFFUSION.scales(t, x)
        return torch.cat([(x - signal * (x_start + off)) / spread, torch.full_like(x, v)], dim=1)

    return model


@pytest.mark.parametrize("t", [2, 3, 20, 40])
@pytest.mark.parametrize(("v", "off"), [(-1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (-1.0, 0.1), (0.5, -0.3)])
def test_a_term_is_the_divergence_of_two_gaussians(t: int, v: float, off: float) -> None:
    x_start = torch.linspace(-0.6, 0.6, 12, dtype=torch.float64).view(2, 1, 2, 3)
    times = torch.full((2,), t)
    x_t = DIFFUSION.add_noise(x_start, torch.randn(x_start.shape, generator=torch.manual_seed(0), dtype=torch.float64), times)
    terms = VARIANCES.term(oracle(x_start, v, off)(x_t, times, None), x_start, x_t, times)
    q = posterior_variance(t)
    p = math.exp((v + 1) / 2 * math.log(BETAS[t]) + (1 - v) / 2 * math.log(q))
    away = off * math.sqrt(ABAR[t - 1]) * BETAS[t] / (1 - ABAR[t])
    expected = (0.5 * math.log(p / q) + (q + away**2) / (2 * p) - 0.5) / math.log(2)
    assert terms.tolist() == pytest.approx([expected] * 2, rel=1e-6, abs=1e-9)


def test_the_bound_of_a_model_that_knows_the_record_is_its_first_and_last_term() -> None:
    """With the posterior's own variance every divergence is 0; what is left is a likelihood at t = 1 and the distance from noise at T."""
    x_start = (torch.tensor([0, 102, 178, 255], dtype=torch.float64) / 127.5 - 1).view(1, 1, 2, 2)
    bound = VARIANCES.bound(oracle(x_start, -1.0), x_start, torch.manual_seed(0))
    deviation, half = math.sqrt(posterior_variance(2)), 1 / 255
    inside = norm.cdf(half / deviation) - norm.cdf(-half / deviation)
    likelihoods = [norm.cdf(half / deviation), inside, inside, norm.cdf(half / deviation)]
    prior = np.mean([0.5 * (ABAR[-1] * float(x) ** 2 - ABAR[-1] - math.log(1 - ABAR[-1])) for x in x_start.flatten()])
    assert bound.item() == pytest.approx((prior - np.mean(np.log(likelihoods))) / math.log(2), rel=1e-6)


def test_the_levels_of_a_pixel_have_probability_one() -> None:
    levels = torch.arange(256, dtype=torch.float64) / 127.5 - 1
    for mean, log_variance in ((0.3, -4.0), (-0.99, -2.0), (2.0, 1.0)):
        log_likelihoods = discretised_log_likelihood(levels, torch.tensor(mean), torch.tensor(log_variance))
        assert float(log_likelihoods.exp().sum()) == pytest.approx(1.0, abs=1e-9)


def test_the_bound_trains_v_and_leaves_the_mean_alone() -> None:
    x_start, times = torch.zeros(3, 1, 2, 2), torch.tensor([1, 2, 30])
    noise = torch.ones_like(x_start)
    output = torch.zeros(3, 2, 2, 2, requires_grad=True)
    VARIANCES.term(output, x_start, DIFFUSION.add_noise(x_start, noise, times), times).sum().backward()
    assert output.grad is not None
    assert torch.equal(output.grad[:, :1], torch.zeros(3, 1, 2, 2))
    assert bool((output.grad[:, 1:] != 0).all())
    simple = DIFFUSION.loss(output[:, :1], x_start, noise, times)
    term = VARIANCES.term(output, x_start, DIFFUSION.add_noise(x_start, noise, times), times)
    assert torch.allclose(VARIANCES.hybrid_loss(output, x_start, noise, times, 0.001), simple + 0.001 * 40 * term)


@pytest.mark.parametrize("steps", [40, 7])
def test_sampling_with_a_model_that_knows_the_record_returns_it(steps: int) -> None:
    x_start = torch.linspace(-1, 1, 8).view(1, 2, 2, 2)
    sampler = SamplerConfig(name="ddpm", num_inference_steps=steps)
    sample = learned_ancestral(oracle(x_start, 0.3), torch.randn(1, 2, 2, 2), DIFFUSION, sampler, torch.manual_seed(0))
    assert torch.allclose(sample, x_start, atol=1e-5)


@pytest.mark.parametrize("v", [-1.0, 0.0, 1.0])
def test_a_step_has_the_learned_variance(v: float) -> None:
    """Two steps of a process of few: before the last, x has the signal of the record and the variance that v names."""
    seen: list[Tensor] = []
    x_start = torch.full((20_000, 1, 1, 1), 0.5)
    known = oracle(x_start, v)

    def model(x: Tensor, t: Tensor, labels: Tensor | None) -> Tensor:
        seen.append(x)
        return known(x, t, labels)

    learned_ancestral(model, torch.zeros_like(x_start), DIFFUSION, SamplerConfig(name="ddpm", num_inference_steps=2), torch.manual_seed(0))
    beta = 1 - ABAR[40] / ABAR[20]
    posterior = beta * (1 - ABAR[20]) / (1 - ABAR[40])
    expected = math.exp((v + 1) / 2 * math.log(beta) + (1 - v) / 2 * math.log(posterior))
    assert float(seen[1].var()) == pytest.approx(expected, rel=0.04)
