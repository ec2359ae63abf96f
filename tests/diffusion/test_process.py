"""The Gaussian process: conversions are exact and the loss is what its formula says."""

import pytest
import torch

from workbench.diffusion import DiffusionConfig, GaussianDiffusion, NoiseSchedule, build_diffusion, linear_betas
from workbench.errors import WorkbenchError

T = torch.tensor([1, 250, 900, 1000])


@pytest.fixture
def pair() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x_start = torch.rand(4, 2, 3, 3, generator=generator, dtype=torch.float64) * 2 - 1
    return x_start, torch.randn(4, 2, 3, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("prediction", ["epsilon", "v"])
def test_the_target_gives_back_record_and_noise(prediction: str, pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    diffusion = build_diffusion(DiffusionConfig.model_validate({"prediction": prediction}))
    x_start, noise = pair
    x_t = diffusion.add_noise(x_start, noise, T)
    target = diffusion.target(x_start, noise, T)
    torch.testing.assert_close(diffusion.predict_x_start(target, x_t, T), x_start, rtol=0, atol=1e-10)
    torch.testing.assert_close(diffusion.predict_noise(target, x_t, T), noise, rtol=0, atol=1e-10)


def test_any_v_and_the_epsilon_it_implies_mean_the_same_record(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    schedule = NoiseSchedule(linear_betas())
    x_t, output = pair
    by_v, by_epsilon = GaussianDiffusion(schedule, "v"), GaussianDiffusion(schedule, "epsilon")
    epsilon = by_v.predict_noise(output, x_t, T)
    torch.testing.assert_close(by_epsilon.predict_x_start(epsilon, x_t, T), by_v.predict_x_start(output, x_t, T), rtol=1e-9, atol=1e-9)


def test_noising_uses_each_records_own_time(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    diffusion = build_diffusion(DiffusionConfig())
    x_start, noise = pair
    x_t = diffusion.add_noise(x_start, noise, T)
    for row, t in enumerate(T.tolist()):
        abar = float(diffusion.schedule.alphas_cumprod[t])
        torch.testing.assert_close(x_t[row], abar**0.5 * x_start[row] + (1 - abar) ** 0.5 * noise[row])


def test_time_zero_leaves_the_record_alone(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    diffusion = build_diffusion(DiffusionConfig())
    assert torch.equal(diffusion.add_noise(*pair, torch.zeros(4, dtype=torch.int64)), pair[0])


def test_loss_is_the_mean_square_over_pixels_for_each_record(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    diffusion = build_diffusion(DiffusionConfig())
    x_start, noise = pair
    output = noise.clone()
    output[2, 0, 1, 1] += 3.0
    loss = diffusion.loss(output, x_start, noise, T)
    torch.testing.assert_close(loss, torch.tensor([0.0, 0.0, 9.0 / 18.0, 0.0], dtype=torch.float64))


def test_the_process_works_under_vmap(pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    diffusion = build_diffusion(DiffusionConfig(prediction="v"))
    x_start, noise = pair
    one_by_one = torch.func.vmap(lambda x, e, t: diffusion.loss(e[None] * 0, x[None], e[None], t[None])[0])(x_start, noise, T)
    torch.testing.assert_close(one_by_one, diffusion.loss(noise * 0, x_start, noise, T))


def test_an_unknown_prediction_lists_the_choices() -> None:
    with pytest.raises(WorkbenchError, match="epsilon, v"):
        GaussianDiffusion(NoiseSchedule(linear_betas()), "x_start")  # pyright: ignore[reportArgumentType]


def test_weights_of_both_predictions_are_those_of_one_image_error() -> None:
    """min(SNR, 5) times the squared error of the image, whatever the network predicts (Hang et al. 2023)."""
    schedule, times = NoiseSchedule(linear_betas()), torch.tensor([1, 50, 300, 700, 1000])
    draw = torch.Generator().manual_seed(0)
    image, noise, wrong = (torch.randn(5, 1, 4, 4, generator=draw) for _ in range(3))
    for prediction in ("epsilon", "v"):
        process = GaussianDiffusion(schedule, prediction, "min-snr")  # type: ignore[arg-type]
        x_t, output = process.add_noise(image, noise, times), process.target(image, noise, times) + 0.1 * wrong
        signal, noises = process.scales(times, image)
        snr = (signal / noises).square().flatten()
        error = (process.predict_x_start(output, x_t, times) - image).square().flatten(1).mean(1)
        assert torch.allclose(process.loss(output, image, noise, times), snr.clamp(max=5) * error, rtol=1e-2)
        plain = GaussianDiffusion(schedule, prediction)  # type: ignore[arg-type]
        assert not torch.allclose(process.loss(output, image, noise, times), plain.loss(output, image, noise, times))
