"""Sampling: post-processing of the student, or of a teacher that was released too."""

import torch
from torch import Tensor, nn

from workbench.diffusion import build_diffusion, generate
from workbench.errors import WorkbenchError
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.teacher import SOUND_AVERAGE
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State


def sample(config: DPSADConfig, state: State, request: SampleRequest) -> Records:
    """Images from a moving average; source 'public' takes the teacher as public images left it."""
    if request.source == "public":
        if not config.learns_in_public:
            raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
        return image_diffusion.draw_samples(config, image_diffusion.averaged(state, "public_ema"), state, request)
    if config.drawn_from == "teacher":
        return image_diffusion.draw_samples(config, image_diffusion.averaged(state, SOUND_AVERAGE), state, request)
    student = image_diffusion.averaged(state)
    draw = image_diffusion.draw_samples if config.student_conditioned else unlabelled
    return draw(config, student, state, request)


def unlabelled(config: DPSADConfig, student: nn.Module, state: State, request: SampleRequest) -> Records:
    """Images of a student that knows no labels."""
    diffusion, model = build_diffusion(config.diffusion), image_diffusion.ordinary(student, state)

    def run(noise: Tensor, _rows: Tensor, generator: torch.Generator, _place: slice) -> Tensor:
        return generate(model, noise, diffusion, config.sampler, generator)

    return Records(image_diffusion.drawn(run, state, request).records)
