"""Scores of membership: how well a model, or its samples, know a record; small means member."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from workbench.lazy import torch, without_gradients
from workbench.records import Records

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.datasets.base import DatasetFacts
    from workbench.models.denoising import Denoiser

LOSS_TIMES, LOSS_DRAWS = 10, 4
SECMI_TIME, SECMI_INTERVAL = 0.09, 0.01  # of T: t = 90 and 10 of 1000
PIA_TIME = 0.2

Report = Callable[[float], None]
Score = Callable[["Denoiser", Records, int, Report], np.ndarray]


def ignore_progress(_share: float) -> None:
    """For who wants no report of progress."""


@without_gradients
def loss_score(denoiser: Denoiser, data: Records, seed: int = 0, report: Report = ignore_progress) -> np.ndarray:
    """Mean squared error of the predicted noise over time steps and draws, float64 (N,); every record sees the same noise."""
    scores, last = np.zeros(len(data)), denoiser.diffusion.timesteps
    times = [max(1, round(share * last)) for share in (np.arange(LOSS_TIMES) + 0.5) / LOSS_TIMES]
    for part, images, rows in denoiser.parts(data):
        generator = torch.Generator(images.device).manual_seed(seed)
        for time in times:
            for _ in range(LOSS_DRAWS):
                noise = torch.randn((1, *images.shape[1:]), generator=generator, device=images.device).expand_as(images)
                t = torch.full((len(images),), time, device=images.device)
                error = denoiser.noise(denoiser.diffusion.add_noise(images, noise, t), t, rows) - noise
                scores[part] += _array(error.square().flatten(1).mean(dim=1))
        report(min(1.0, part.stop / len(data)))
    return scores / (LOSS_TIMES * LOSS_DRAWS)


@without_gradients
def secmi_score(denoiser: Denoiser, data: Records, seed: int = 0, report: Report = ignore_progress) -> np.ndarray:
    """|x_t - x'_t|^2 at t = .09 T, where x_t is the record's DDIM noising and x'_t comes of a step up and down again (Duan et al. 2023)."""
    del seed
    scores, last = np.zeros(len(data)), denoiser.diffusion.timesteps
    interval = max(1, round(SECMI_INTERVAL * last))
    steps = max(1, round(SECMI_TIME * last) // interval)
    for part, x, rows in denoiser.parts(data):
        for step in range(steps):
            x = _ddim(denoiser, x, step * interval, (step + 1) * interval, rows)
        time = steps * interval
        back = _ddim(denoiser, _ddim(denoiser, x, time, time + interval, rows), time + interval, time, rows)
        scores[part] = _array((back - x).square().flatten(1).sum(dim=1))
        report(min(1.0, part.stop / len(data)))
    return scores


@without_gradients
def pia_score(denoiser: Denoiser, data: Records, seed: int = 0, report: Report = ignore_progress) -> np.ndarray:
    """sum |e0 - e(sqrt(a_t) x0 + sqrt(1 - a_t) e0, t)|^4 at t = .2 T with e0 = e(x0, 1), our first time (Kong et al. 2024)."""
    del seed
    scores, time = np.zeros(len(data)), max(1, round(PIA_TIME * denoiser.diffusion.timesteps))
    for part, images, rows in denoiser.parts(data):
        first, t = (torch.full((len(images),), at, device=images.device) for at in (1, time))
        noise = denoiser.noise(images, first, rows)
        error = noise - denoiser.noise(denoiser.diffusion.add_noise(images, noise, t), t, rows)
        scores[part] = _array(error.abs().pow(4).flatten(1).sum(dim=1))
        report(min(1.0, part.stop / len(data)))
    return scores


SCORES: dict[str, Score] = {"loss": loss_score, "secmi": secmi_score, "pia": pia_score}


def label_advantage(score: Score, denoiser: Denoiser, data: Records, num_classes: int, seed: int, report: Report) -> np.ndarray:
    """The score under each record's own label less its mean under the others, which knows nothing of how hard the record is."""
    assert data.labels is not None
    every = []
    for shift in range(num_classes):
        shifted = Records(data.records, (data.labels + shift) % num_classes)
        every.append(score(denoiser, shifted, seed, ignore_progress))
        report((shift + 1) / num_classes)
    return every[0] - np.mean(every[1:], axis=0)


def sample_distance(facts: DatasetFacts, samples: Records, data: Records) -> np.ndarray:
    """The distance of each record to the nearest sample, of its own label where both have labels; float64 (N,)."""
    from workbench.evaluation.nearest import nearest

    scores = np.zeros(len(data))
    sample_features, wanted = facts.kind.features(samples.records), facts.kind.features(data.records)
    same = None if samples.labels is None or data.labels is None else (samples.labels, data.labels)
    for label in [None] if same is None else np.unique(same[1]):
        mine = slice(None) if same is None else same[1] == label
        theirs = slice(None) if same is None or not (same[0] == label).any() else same[0] == label
        scores[mine] = nearest(wanted[mine], sample_features[theirs])[1][:, 0]
    return scores


def _ddim(denoiser: Denoiser, x: Tensor, before: int, after: int, rows: Tensor) -> Tensor:
    """A deterministic step between two times, up or down; the noise at time 0 is that predicted at 1."""
    diffusion = denoiser.diffusion
    here, there = (torch.full((len(x),), time, device=x.device) for time in (before, after))
    noise = denoiser.noise(x, here.clamp(min=1), rows)
    signal_scale, noise_scale = diffusion.scales(here, x)
    return diffusion.add_noise((x - noise_scale * noise) / signal_scale, noise, there)


def _array(values: Tensor) -> np.ndarray:
    return values.double().cpu().numpy()
