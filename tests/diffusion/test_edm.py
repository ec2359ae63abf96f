"""EDM against data whose exact denoiser is known: its preconditioning, its loss, its samplers and their order."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.diffusion.edm import EDM, EDM_SAMPLERS, Churn, EDMConfig, EDMSamplerConfig, generate, karras_sigmas
from workbench.diffusion.edm.samplers import Denoiser, churned
from workbench.errors import WorkbenchError

MEANS = torch.tensor([-0.6, 0.5], dtype=torch.float64)
STDS = torch.tensor([0.1, 0.2], dtype=torch.float64)
WEIGHTS = torch.tensor([0.3, 0.7], dtype=torch.float64)
DETERMINISTIC = Churn()


def mixture_denoiser(means: Tensor = MEANS, stds: Tensor = STDS, weights: Tensor = WEIGHTS) -> Callable[[Tensor, Tensor], Tensor]:
    """E[x_start | x] for pixels drawn independently from a mixture of Gaussians."""

    def denoise(x: Tensor, sigma: Tensor) -> Tensor:
        level = sigma.reshape(-1, *[1] * x.ndim)
        variances = stds**2 + level**2
        logits = weights.log() - 0.5 * variances.log() - 0.5 * (x[..., None] - means) ** 2 / variances
        expected = (stds**2 * x[..., None] + level**2 * means) / variances
        return (logits.softmax(dim=-1) * expected).sum(dim=-1)

    return denoise


def gaussian_denoiser(std: float) -> Callable[[Tensor, Tensor], Tensor]:
    one = torch.ones(1, dtype=torch.float64)
    return mixture_denoiser(0.0 * one, std * one, one)


def start(count: int, sigma: float = 80.0, seed: int = 0) -> tuple[Tensor, torch.Generator]:
    generator = torch.Generator().manual_seed(seed)
    return sigma * torch.randn(count, 1, 2, 2, generator=generator, dtype=torch.float64), generator


def test_table_1() -> None:
    """The coefficients at sigma = sigma_data = .5 by hand, from what the methods do to a few numbers."""
    edm, sigma = EDM(EDMConfig(sigma_data=0.5, log_sigma_mean=-1.2, log_sigma_std=1.2)), torch.tensor([0.5], dtype=torch.float64)
    x, zero, one = (value * torch.ones(1, 1, dtype=torch.float64) for value in (3.0, 0.0, 1.0))
    scaled, c_noise = edm.network_input(x, sigma)
    assert float(scaled) == pytest.approx(3.0 * 2**0.5)
    assert float(c_noise) == pytest.approx(-0.1732867951)
    assert float(EDM(EDMConfig(embedding_scale=16)).network_input(x, sigma)[1]) == pytest.approx(16 * -0.1732867951)
    assert float(edm.predict_x_start(zero, x, sigma)) == pytest.approx(0.5 * 3.0)
    assert float(edm.predict_x_start(one, 0.0 * x, sigma)) == pytest.approx(0.5 / 2**0.5)
    assert float(edm.add_noise(x, one, sigma)) == 3.5
    assert edm.sigma(torch.tensor([0.0, 1.0])).tolist() == pytest.approx([0.3011942, 1.0])


@pytest.mark.parametrize("sigma", [0.002, 0.1, 1.0, 80.0])
def test_the_loss_is_the_weighted_error_of_the_denoiser(sigma: float) -> None:
    """lambda |D - x_start|^2 with lambda = (sigma^2 + s^2) / (sigma s)^2, and none for the network that denoises a record exactly."""
    edm, generator = EDM(EDMConfig()), torch.Generator().manual_seed(1)
    x_start, noise, output = (torch.randn(5, 1, 3, 3, generator=generator, dtype=torch.float64) for _ in range(3))
    levels, s = torch.full((5,), sigma, dtype=torch.float64), edm.config.sigma_data
    x = edm.add_noise(x_start, noise, levels)
    weight = (sigma**2 + s**2) / (sigma * s) ** 2
    expected = weight * (edm.predict_x_start(output, x, levels) - x_start).square().flatten(1).mean(dim=1)
    torch.testing.assert_close(edm.loss(output, x_start, noise, levels), expected, rtol=1e-9, atol=0)
    exact = edm.target(x_start, noise, levels)
    torch.testing.assert_close(edm.predict_x_start(exact, x, levels), x_start, rtol=0, atol=1e-9)


def test_the_preconditioned_denoiser_of_a_mixture_is_the_exact_one_where_its_network_is() -> None:
    """A Gaussian of spread sigma_data needs no network at all; a mixture's needs (D - c_skip x) / c_out, of order 1 at every level."""
    edm, x = EDM(EDMConfig(sigma_data=0.5)), start(6, sigma=1.0)[0]
    sigma = torch.tensor([0.002, 0.02, 0.2, 2.0, 20.0, 80.0], dtype=torch.float64)
    silent = edm.denoiser(lambda scaled, c_noise, labels: torch.zeros_like(scaled))
    torch.testing.assert_close(silent(x, sigma, None), gaussian_denoiser(0.5)(x, sigma), rtol=0, atol=1e-12)
    exact, level = mixture_denoiser(), sigma.reshape(-1, 1, 1, 1)
    spread = (level**2 + 0.25).sqrt()
    needed = (exact(x, sigma) - 0.25 / spread**2 * x) / (0.5 * level / spread)

    def network(scaled: Tensor, c_noise: Tensor, labels: Tensor | None) -> Tensor:
        torch.testing.assert_close((4.0 * c_noise).exp(), sigma)
        torch.testing.assert_close(scaled * spread, x)
        return needed

    torch.testing.assert_close(edm.denoiser(network)(x, sigma, None), exact(x, sigma), rtol=0, atol=1e-12)


def test_levels_are_even_in_the_root() -> None:
    """Eq. 5, and no noise last."""
    sigmas = karras_sigmas(5)
    assert sigmas[0] == pytest.approx(80.0)
    assert sigmas[4:] == [pytest.approx(0.002), 0.0]
    roots = [sigma ** (1 / 7) for sigma in sigmas[:5]]
    steps = [first - second for first, second in pairwise(roots)]
    assert steps == pytest.approx([(80 ** (1 / 7) - 0.002 ** (1 / 7)) / 4] * 4)
    assert karras_sigmas(1) == [pytest.approx(80.0), 0.0]
    with pytest.raises(WorkbenchError, match="sigma_min < sigma_max"):
        karras_sigmas(3, 2.0, 1.0)


@pytest.mark.parametrize("churn", [DETERMINISTIC, Churn(amount=30.0, noise=1.0)], ids=["deterministic", "churn"])
@pytest.mark.parametrize(("name", "steps"), [("ddim", 400), ("heun", 60)])
def test_a_mixture_comes_back_with_its_weights_means_and_spreads(name: str, steps: int, churn: Churn) -> None:
    x, generator = start(4000)
    samples = EDM_SAMPLERS[name](mixture_denoiser(), x, karras_sigmas(steps), churn, generator, clip_x_start=False).flatten()
    lower = samples < -0.2
    assert lower.double().mean() == pytest.approx(0.3, abs=0.015)
    assert samples[lower].mean() == pytest.approx(-0.6, abs=0.01)
    assert samples[~lower].mean() == pytest.approx(0.5, abs=0.015)
    assert samples[lower].std() == pytest.approx(0.1, rel=0.06)
    assert samples[~lower].std() == pytest.approx(0.2, rel=0.06)


def gaussian_error(name: str, steps: int, std: float = 0.5) -> float:
    """The largest distance to where the equation leads: N(0, std^2 + sigma^2) at every level, so x scaled to the spread of the data.

    The last step, to no noise, is Euler's in both algorithms; it is small where the lowest level is.
    """
    x, generator = start(50)
    sigmas = karras_sigmas(steps, sigma_min=1e-6)
    samples = EDM_SAMPLERS[name](gaussian_denoiser(std), x, sigmas, DETERMINISTIC, generator, clip_x_start=False)
    return float((samples - x * std / (std**2 + sigmas[0] ** 2) ** 0.5).abs().max())


@pytest.mark.parametrize(("name", "order"), [("ddim", 1), ("heun", 2)])
def test_twice_the_steps_divide_the_error_by_the_power_of_the_order(name: str, order: int) -> None:
    errors = [gaussian_error(name, steps) for steps in (100, 200, 400)]
    for more, fewer in pairwise(errors):
        assert more / fewer == pytest.approx(2**order, rel=0.1)


@pytest.mark.parametrize("name", EDM_SAMPLERS)
def test_a_gaussian_has_the_variance_of_the_exact_recursion(name: str) -> None:
    """Each step is linear in x: noise is added (Algorithm 2, line 6), then x is scaled."""
    std, steps, churn = 0.5, 12, Churn(amount=3.0, sigma_min=0.05, sigma_max=50.0, noise=1.3)
    sigmas = karras_sigmas(steps)
    variance = sigmas[0] ** 2
    for now, then in pairwise(sigmas):
        if 0.05 <= now <= 50.0:
            raised = now * (1 + 3.0 / steps)
            variance, now = variance + 1.3**2 * (raised**2 - now**2), raised
        rate, next_rate, step = now / (std**2 + now**2), then / (std**2 + then**2), then - now
        factor = 1 + step * rate
        if name == "heun" and then > 0:
            factor = 1 + step * (rate + next_rate * factor) / 2
        variance *= factor**2
    x, generator = start(20_000, sigma=sigmas[0])
    samples = EDM_SAMPLERS[name](gaussian_denoiser(std), x, sigmas, churn, generator, clip_x_start=False)
    assert float(samples.var()) == pytest.approx(variance, rel=5 * (2 / 80_000) ** 0.5)


def test_a_configuration_names_the_fresh_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    churns: list[Churn] = []
    usual = EDM_SAMPLERS["heun"]

    def watched(denoise: Denoiser, x: Tensor, sigmas: Sequence[float], churn: Churn, *rest: Any, **options: Any) -> Tensor:
        churns.append(churn)
        return usual(denoise, x, sigmas, churn, *rest, **options)

    monkeypatch.setitem(EDM_SAMPLERS, "heun", watched)
    sampler = EDMSamplerConfig(churn=2.0, churn_sigma_min=0.1, churn_sigma_max=3.0, churn_noise=1.5, num_inference_steps=2)
    noise, generator = start(1, sigma=1.0)
    generate(lambda scaled, c_noise, labels: 0.0 * scaled, noise, EDM(EDMConfig()), sampler, generator)
    assert churns == [Churn(2.0, 0.1, 3.0, 1.5)]


def test_churn_keeps_to_its_levels_and_its_most() -> None:
    x, generator = start(3, sigma=1.0)
    before = generator.get_state()
    for sigma in (0.01, 60.0):
        assert churned(x, sigma, 10, Churn(amount=1.0), generator) == (x, sigma)
    assert churned(x, 1.0, 10, DETERMINISTIC, generator) == (x, 1.0)
    assert torch.equal(generator.get_state(), before)
    assert churned(x, 1.0, 10, Churn(amount=1.0), generator)[1] == pytest.approx(1.1)
    assert churned(x, 1.0, 10, Churn(amount=100.0), generator)[1] == pytest.approx(2**0.5)


@pytest.mark.parametrize("name", EDM_SAMPLERS)
def test_a_single_record_is_found_exactly_and_every_step_is_shown(name: str) -> None:
    record, shown = torch.tensor([[[[-1.0, 0.25], [0.5, 1.0]]]], dtype=torch.float64), []

    def model(scaled: Tensor, c_noise: Tensor, labels: Tensor | None) -> Tensor:
        sigma = (4.0 * c_noise).exp().reshape(-1, 1, 1, 1)
        spread, s = (sigma**2 + edm.config.sigma_data**2).sqrt(), edm.config.sigma_data
        return (2.0 * record - s**2 / spread * scaled) / (sigma * s / spread)  # denoises to twice the record

    edm, (noise, generator) = EDM(EDMConfig()), start(8, sigma=1.0)
    for clip, expected in ((True, (2.0 * record).clamp(-1, 1)), (False, 2.0 * record)):
        sampler = EDMSamplerConfig.model_validate({"name": name, "num_inference_steps": 7, "clip_x_start": clip})
        samples = generate(model, noise, edm, sampler, generator, on_step=lambda done, x: shown.append(done))
        torch.testing.assert_close(samples, expected.expand_as(samples), rtol=0, atol=1e-9)
    assert shown == [*range(1, 8), *range(1, 8)]


def test_a_configuration_whose_levels_do_not_fall_is_refused() -> None:
    with pytest.raises(ValueError, match="sigma_min below sigma_max"):
        EDMSamplerConfig(sigma_min=1.0, sigma_max=0.5)
