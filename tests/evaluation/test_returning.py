"""What models whose answers are known bring back of a noised image."""

import numpy as np
import torch
from torch import Tensor

from workbench.datasets import load
from workbench.datasets.base import to_unit_range
from workbench.diffusion import GaussianDiffusion
from workbench.diffusion.schedules import NoiseSchedule, linear_betas
from workbench.evaluation.returning import SHARES, returning
from workbench.models.denoising import Denoiser

DIFFUSION = GaussianDiffusion(NoiseSchedule(linear_betas()))


def ideal(kept: Tensor) -> Denoiser:
    """The ideal denoiser of a training set of the records `kept`."""

    def noise(x_t: Tensor, t: Tensor, _rows: Tensor) -> Tensor:
        signal, spread = DIFFUSION.scales(t, x_t)
        apart = (x_t[:, None] - signal[:, None] * kept[None]).flatten(2).square().sum(2)
        weights = torch.softmax(-apart / (2 * spread.flatten(1) ** 2), dim=1)
        return (x_t - signal * torch.einsum("bk,kchw->bchw", weights, kept)) / spread

    return Denoiser(DIFFUSION, noise, torch.device("cpu"))


def test_a_model_of_one_record_brings_that_record_back_from_any_noise() -> None:
    records = load("digits").train
    kept, other = records.take(slice(7, 8)), records.take(slice(8, 9))
    ways = returning(ideal(torch.from_numpy(to_unit_range(kept.records))), other)
    assert ways.times == tuple(round(share * 1000) for share in SHARES)
    assert (ways.returned == kept.records).all()
    assert np.allclose(ways.distances(kept.records[0]), 0)
    apart = np.sqrt(np.square((kept.records[0].astype(float) - other.records[0]) / 255).mean())
    assert np.allclose(ways.distances(other.records[0]), apart)


def test_a_model_of_many_records_brings_a_sample_back_from_little_noise_alone() -> None:
    """From the last time, at which nothing of the image is left, the same record comes whatever the image was."""
    records = load("digits").train.take(slice(50))
    model = ideal(torch.from_numpy(to_unit_range(records.records)))
    ways = [returning(model, records.take(slice(place, place + 1))) for place in range(5)]
    for place, one in enumerate(ways):
        assert one.distances(records.records[place])[0] < 0.01
        assert np.array_equal(one.returned[-1], ways[0].returned[-1])
    assert [one.distances(records.records[place])[-1] > 0.1 for place, one in enumerate(ways)].count(True) >= 4


def test_the_image_is_noised_by_the_process_with_one_noise() -> None:
    record = load("digits").train.take(slice(3, 4))
    ways = returning(ideal(torch.zeros(1, 1, 8, 8)), record, seed=4)
    noise = torch.randn((1, 1, 8, 8), generator=torch.Generator().manual_seed(4)).numpy()
    for time, noised in zip(ways.times, ways.noised, strict=True):
        alpha = DIFFUSION.schedule.alphas_cumprod[time]
        expected = np.sqrt(alpha) * to_unit_range(record.records) + np.sqrt(1 - alpha) * noise
        assert np.abs(noised - np.clip((expected[0] + 1) * 127.5, 0, 255)).max() <= 1


def test_each_way_begins_at_its_own_time_and_is_for_the_record_s_class() -> None:
    record = load("digits").train.take(slice(3, 4))
    calls: list[tuple[int, int]] = []

    def noise(x_t: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        calls.append((int(t), int(rows)))
        return x_t

    ways = returning(Denoiser(DIFFUSION, noise, torch.device("cpu")), record)
    times = [time for time, _ in calls]
    begun = [time for place, time in enumerate(times) if place == 0 or time > times[place - 1]]
    assert record.labels is not None
    assert begun == list(ways.times)
    assert {row for _, row in calls} == {int(record.labels[0]) + 1}
