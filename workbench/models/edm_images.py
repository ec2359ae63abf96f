"""The image model in EDM's form: the same U-Net, preconditioned, at noise levels in the place of time steps."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from workbench.diffusion.edm import EDM, EDMConfig, EDMSamplerConfig, generate
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import PretrainedSettings
from workbench.records import Records
from workbench.training.microbatch import Microbatch
from workbench.training.row_losses import RowLosses
from workbench.training.state import State


class EDMSettings(PretrainedSettings, Protocol):
    """The part of a method's configuration that describes its diffusion model."""

    @property
    def diffusion(self) -> EDMConfig: ...
    @property
    def sampler(self) -> EDMSamplerConfig: ...


def row_losses(edm: EDM, network: nn.Module, batch: tuple[Tensor, ...], label_dropout: float) -> RowLosses:
    """The denoising losses of a batch's images and label rows for a private step: a level and noise a row, a dropped label a record."""
    shape = tuple(batch[0].shape[1:])

    def draw(part: Microbatch) -> tuple[Tensor, Tensor, Tensor]:
        kept = (part.per_record_uniform() >= label_dropout).to(torch.int64)
        return kept, edm.sigma(part.normal(())), part.normal(shape)

    def inputs(image: Tensor, label: Tensor, kept: Tensor, sigma: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return *edm.network_input(edm.add_noise(image, noise, sigma), sigma), label * kept

    def loss(output: Tensor, image: Tensor, _label: Tensor, _kept: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
        return edm.loss(output, image, noise, sigma)

    return RowLosses(network, batch, draw, inputs, loss)


def ordinary_loss(
    settings: EDMSettings, data: Records, state: State, stage: str, batch_size: int, label_dropout: float
) -> image_diffusion.StepLoss:
    """The mean denoising loss of a step of ordinary training, as `image_diffusion.mean_loss` draws it."""
    edm, network = EDM(settings.diffusion), image_diffusion.ordinary(state.modules["network"], state)

    def levels(count: int, draw: torch.Generator) -> Tensor:
        return edm.sigma(torch.randn(count, generator=draw))

    def losses(images: Tensor, rows: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
        output = network(*edm.network_input(edm.add_noise(images, noise, sigma), sigma), rows)
        return edm.loss(output, images, noise, sigma)

    return image_diffusion.mean_loss(levels, losses, data, state, stage, batch_size, label_dropout)


def draw_samples(settings: EDMSettings, network: nn.Module, state: State, request: SampleRequest) -> Records:
    """uint8 images by the configured sampler with classifier-free guidance, in batches, with their labels."""
    edm, model = EDM(settings.diffusion), image_diffusion.ordinary(network, state)

    def run(noise: Tensor, rows: Tensor, generator: torch.Generator, _place: slice) -> Tensor:
        return generate(model, noise, edm, settings.sampler, generator, labels=rows)

    return image_diffusion.drawn(run, state, request)
