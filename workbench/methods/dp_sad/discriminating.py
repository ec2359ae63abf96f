"""The discriminator's steps: it learns to tell the teacher's next image from the student's."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.distillation import STUDENTS, TEACHERS, Distillation, next_image
from workbench.methods.dp_sad.stages import DISCRIMINATOR
from workbench.methods.dp_sad.teacher import generated_images
from workbench.models import image_diffusion
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State


def trainer(config: DPSADConfig, distillation: Distillation, student: nn.Module, data: Records, state: State) -> OrdinaryTrainer:
    """Steps on images at random time steps: generated ones where the mode is sound, private records where it is the paper's."""
    discriminator, diffusion, count = state.modules[DISCRIMINATOR], distillation.diffusion, config.discriminator.batch_size

    @cache  # drawn at the first step, not before the student's first
    def shown() -> tuple[Images, Tensor]:
        return image_diffusion.entries(generated_images(config, state) if config.is_sound else data, state.device)

    def loss(step: int) -> Tensor:
        images, rows = shown()
        draw = state.randomness.torch_generator(f"{DISCRIMINATOR} batch", step)
        index = torch.randint(len(images), (count,), generator=draw).to(images.device)
        times = torch.randint(1, diffusion.timesteps + 1, (count,), generator=draw).to(images.device)
        noise = torch.randn((count, *images.shape[1:]), generator=draw).to(images.device)
        labels, x_t = rows[index], diffusion.add_noise(images[index], noise, times)
        with torch.no_grad():
            outputs = distillation.teach(x_t, times, labels), student(x_t, times, distillation.student_rows(labels))
            made = torch.cat([next_image(diffusion, output, x_t, times) for output in outputs])
        makers = torch.tensor([TEACHERS, STUDENTS], device=images.device).repeat_interleave(count)
        told = distillation.discriminator_rows(labels)
        found = cross_entropy(discriminator(made, times.repeat(2), told.repeat(2)), makers)
        return -found if config.discriminator.objective == "printed" else found

    return OrdinaryTrainer(config.discriminator, DISCRIMINATOR, state, loss, private=not config.is_sound)
