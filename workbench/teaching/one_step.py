"""One private step taken apart: real gradients of a small diffusion network, clipped, summed, noised, and without one record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from workbench.datasets import glyphs, load
from workbench.datasets.base import to_unit_range
from workbench.diffusion import DiffusionConfig, GaussianDiffusion, build_diffusion
from workbench.lazy import torch
from workbench.networks.config import UNetConfig
from workbench.records import Records
from workbench.teaching.base import PanelChoices

if TYPE_CHECKING:
    from torch import Tensor

    from workbench import networks

RECORDS = 24
NETWORK = UNetConfig(base_channels=8, channel_multipliers=(1,), num_res_blocks=1, attention_resolutions=())
PUBLIC_STEPS, PUBLIC_BATCH, LEARNING_RATE = 40, 64, 0.1


class StepChoices(PanelChoices, frozen=True):
    """The clipping norm, the noise over it, and which record the neighbor is without."""

    max_grad_norm: float = Field(default=1.0, ge=0.01, le=10)
    noise_multiplier: float = Field(default=1.0, ge=0.1, le=20)
    left_out: int = Field(default=0, ge=0, lt=RECORDS)


@dataclass(frozen=True)
class PrivateStepApart:
    """A step on `RECORDS` digits with and without one of them; norms are by record, in the order of the records."""

    norms: np.ndarray  # (R,) before clipping
    clipped: np.ndarray  # (R,) after it
    images: np.ndarray  # uint8 (R, 1, 8, 8)
    parameters: int
    sum_norm: float  # of the clipped gradients' sum
    noise_norm: float  # of the noise that is added to it
    alignment: float  # cosine of the sum and what is released
    apart: float  # norm of what the record adds
    deviation: float  # of the noise along any direction
    place_with: float  # of the sum along what the record adds
    place_without: float
    released: float  # of one release with the record
    worst_mu: float  # of the longest gradient that clipping lets through

    @property
    def mu(self) -> float:
        """How far the two distributions are apart for this record, in standard deviations."""
        return self.apart / self.deviation


@lru_cache(maxsize=1)
def gradients() -> tuple[np.ndarray, np.ndarray]:
    """Each record's gradient of the denoising loss, float64 (R, P), of a network with some public steps behind it; the records, uint8.

    Time step and noise are a record's own, drawn by a fixed seed.
    """
    from workbench.training.per_record import PerRecordGradients

    train = load("digits").train.take(slice(RECORDS))
    diffusion, network = build_diffusion(DiffusionConfig()), public_network()
    loss = _loss_of(diffusion, network, train, torch.Generator().manual_seed(1))
    by_parameter = PerRecordGradients(network).gradients(loss, RECORDS)
    return np.concatenate([part.double().flatten(1).numpy() for part in by_parameter.values()], axis=1), train.records


def public_network() -> networks.UNet:
    """A small denoiser after `PUBLIC_STEPS` ordinary steps on drawn digits, which cost no privacy; by a fixed seed."""
    from workbench import networks
    from workbench.training.randomness import Randomness

    start = Randomness.from_seed(0).torch_generator("network")
    network = networks.initialized(lambda: networks.UNet(NETWORK, 1, (8, 8), 10), start)
    public, diffusion, draw = glyphs.draw(PUBLIC_BATCH, (1, 8, 8)), build_diffusion(DiffusionConfig()), torch.Generator().manual_seed(0)
    parameters = list(network.parameters())
    for _ in range(PUBLIC_STEPS):
        gradients = torch.autograd.grad(_loss_of(diffusion, network, public, draw)().mean(), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= LEARNING_RATE * gradient
    return network


def _loss_of(diffusion: GaussianDiffusion, network: networks.UNet, records: Records, draw: torch.Generator) -> Callable[[], Tensor]:
    """The denoising loss of each record at a time step and noise that `draw` gives, once."""
    assert records.labels is not None
    x_start, rows = torch.from_numpy(to_unit_range(records.records)), torch.from_numpy(records.labels) + 1
    noise = torch.randn(x_start.shape, generator=draw)
    times = torch.randint(1, diffusion.timesteps + 1, (len(records),), generator=draw)
    x_t = diffusion.add_noise(x_start, noise, times)
    return lambda: diffusion.loss(network(x_t, times, rows), x_start, noise, times)


def take_apart(choices: StepChoices) -> PrivateStepApart:
    """The step at these settings; the noise is drawn by a fixed seed, for study alone."""
    record_gradients, images = gradients()
    norms = np.linalg.norm(record_gradients, axis=1)
    clipped = record_gradients * np.minimum(1.0, choices.max_grad_norm / norms)[:, None]
    total, added = clipped.sum(axis=0), clipped[choices.left_out]
    deviation = choices.noise_multiplier * choices.max_grad_norm
    noise = np.random.default_rng(0).standard_normal(record_gradients.shape[1]) * deviation
    apart = float(np.linalg.norm(added))
    direction = added / apart
    released = total + noise
    return PrivateStepApart(
        norms=norms,
        clipped=np.linalg.norm(clipped, axis=1),
        images=images,
        parameters=record_gradients.shape[1],
        sum_norm=float(np.linalg.norm(total)),
        noise_norm=float(np.linalg.norm(noise)),
        alignment=float(total @ released / (np.linalg.norm(total) * np.linalg.norm(released))),
        apart=apart,
        deviation=deviation,
        place_with=float(total @ direction),
        place_without=float((total - added) @ direction),
        released=float(released @ direction),
        worst_mu=choices.max_grad_norm / deviation,
    )
