"""Variation by a diffusion model of public images: noised part of the way, and denoised again (Lin et al. 2024; Meng et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.diffusion import DiffusionConfig, SamplerConfig, build_diffusion, generate
from workbench.models import image_diffusion
from workbench.models.selection.config import DENOISER, DenoiserTraining
from workbench.networks import UNETS, default_unet
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

MODULE = "selection_denoiser"
PROCESS = DiffusionConfig(prediction="v")
LABEL_DROPOUT = 0.1


def add_to(settings: DenoiserTraining, facts: DatasetFacts, state: State) -> None:
    """The network that suits the image size, and its Adam."""
    channels, height, width = facts.shape
    draw, shape = state.randomness.torch_generator(f"initialisation of the {DENOISER}"), UNETS[default_unet(facts.shape)]
    classes = max(facts.num_classes, 1)
    network = networks.initialized(lambda: networks.UNet(shape, channels, (height, width), classes), draw).to(state.device)
    state.modules[MODULE] = network
    state.optimizers[DENOISER] = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)


def train(settings: DenoiserTraining, public: Records, state: State) -> Iterator[Step]:
    """Ordinary steps on public images alone, from where the state stands."""
    diffusion = build_diffusion(PROCESS)
    losses = partial(image_diffusion.plain_loss, diffusion, state.modules[MODULE])

    def times(count: int, draw: torch.Generator) -> Tensor:
        return torch.randint(1, diffusion.timesteps + 1, (count,), generator=draw)

    loss = image_diffusion.mean_loss(times, losses, public, state, DENOISER, settings.batch_size, LABEL_DROPOUT, of_pixels=True)
    for step in OrdinaryTrainer(settings, DENOISER, state, loss, private=False).run():
        if step.step == step.steps and public.labels is None:
            forget_classes(state)
        yield step


def forget_classes(state: State) -> None:
    """Let every class's row be that of no label, the only one that images without labels have trained."""
    network = state.modules[MODULE]
    assert isinstance(network, networks.UNet)
    assert network.label_embedding is not None
    rows = network.label_embedding.weight.data
    rows[:] = rows[image_diffusion.UNCONDITIONAL].clone()


def denoised_images(
    settings: DenoiserTraining, images: Tensor, label: int, size: float, generator: torch.Generator, state: State
) -> Tensor:
    """uint8 images (N, C, H, W) of one class, each noised to `strength` times `size` of the time steps and denoised; as they are at 0."""
    diffusion = build_diffusion(PROCESS)
    start = min(diffusion.timesteps, round(settings.strength * size * diffusion.timesteps))
    steps = min(start, settings.num_inference_steps)
    if not steps or not len(images):
        return images
    row = label + 1 if state.facts.classes else image_diffusion.UNCONDITIONAL
    sampler = SamplerConfig(name="ddim", num_inference_steps=steps)
    made = []
    with torch.no_grad():
        for part in images.split(image_diffusion.SAMPLE_BATCH[state.device.type]):
            x, places = part.float() / 127.5 - 1.0, torch.full((len(part),), start, device=part.device)
            noised = diffusion.add_noise(x, torch.randn(x.shape, generator=generator, device=part.device), places)
            rows = torch.full_like(places, row)
            made.append(generate(state.modules[MODULE], noised, diffusion, sampler, generator, labels=rows, start=start))
    return torch.from_numpy(to_uint8(torch.cat(made).cpu().numpy())).to(images.device)
