"""A trained model as what it predicts of the noise at every time: all that membership scores look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.diffusion import GaussianDiffusion, build_diffusion
from workbench.diffusion.edm import EDM
from workbench.diffusion.schedules import NoiseSchedule, linear_betas
from workbench.models import image_diffusion
from workbench.models.edm_images import EDMSettings
from workbench.models.latents.autoencoder import Autoencoder, autoencoder
from workbench.models.settings import DiffusionSettings
from workbench.records import Records
from workbench.training.state import State


@dataclass(frozen=True)
class Denoiser:
    """`noise(x_t, t, label rows)` is the predicted noise (B, ...) in x_t = sqrt(alphas_cumprod_t) x_start + ..., t int64 (B,) in 1..T."""

    diffusion: GaussianDiffusion
    noise: Callable[[Tensor, Tensor, Tensor], Tensor]
    device: torch.device
    coder: Autoencoder | None = None  # what makes the latents that the model learned in the place of images

    def parts(self, data: Records) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Which records, their images in [-1, 1] (or latents of them) and label rows, so many as go through at once."""
        images, rows = image_diffusion.entries(Records(data.records, data.labels), self.device)
        size = image_diffusion.SAMPLE_BATCH[self.device.type]
        for start in range(0, len(data), size):
            index = torch.arange(start, min(start + size, len(data)), device=self.device)
            yield slice(start, start + size), self._learned(images[index]), rows[index]

    @torch.no_grad()
    def _learned(self, images: Tensor) -> Tensor:
        return images if self.coder is None else self.coder.encode(images)


def of_diffusion(settings: DiffusionSettings, network: nn.Module, state: State) -> Denoiser:
    """The denoiser of a network that predicts noise or v; of further outputs the first are these."""
    diffusion, coder = build_diffusion(settings.diffusion), autoencoder(state)
    channels = state.facts.shape[0] if coder is None else coder.channels

    def noise(x_t: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        return diffusion.predict_noise(network(x_t, t, rows)[:, :channels], x_t, t)

    return Denoiser(diffusion, noise, state.device, coder)


def of_edm(settings: EDMSettings, network: nn.Module, state: State) -> Denoiser:
    """The denoiser of EDM's form at the times of a linear schedule: x_t / sqrt(alphas_cumprod_t) has the level sigma."""
    diffusion = GaussianDiffusion(NoiseSchedule(linear_betas()))
    denoise = EDM(settings.diffusion).denoiser(network)

    def noise(x_t: Tensor, t: Tensor, rows: Tensor) -> Tensor:
        signal_scale, noise_scale = diffusion.scales(t, x_t)
        sigma, x = noise_scale / signal_scale, x_t / signal_scale
        return (x - denoise(x, sigma.flatten(), rows)) / sigma

    return Denoiser(diffusion, noise, state.device)
