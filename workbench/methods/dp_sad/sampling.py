"""Sampling: post-processing of the student, or of a teacher that was released too."""

from dataclasses import replace

import numpy as np
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
        if not config.has_public_model:
            raise WorkbenchError(
                "This run had no public pre-training, or private labels before it, so it has no model of public data alone."
            )
        return conditioned(config, image_diffusion.averaged(state, "public_ema"), state, request)
    if config.drawn_from == "teacher":
        return conditioned(config, image_diffusion.averaged(state, SOUND_AVERAGE), state, request)
    student = image_diffusion.averaged(state)
    draw = conditioned if config.student_conditioned else unlabelled
    return draw(config, student, state, request)


def conditioned(config: DPSADConfig, network: nn.Module, state: State, request: SampleRequest) -> Records:
    """Images with their labels; of clusters, in turn, and without."""
    if config.labels.are_given:
        return image_diffusion.draw_samples(config, network, state, request)
    clusters = np.arange(request.num_samples, dtype=np.int64) % config.labels.clusters
    return Records(image_diffusion.draw_samples(config, network, state, replace(request, labels=clusters, labelled=True)).records)


def unlabelled(config: DPSADConfig, student: nn.Module, state: State, request: SampleRequest) -> Records:
    """Images of a student that knows no labels."""
    diffusion, model = build_diffusion(config.diffusion), image_diffusion.ordinary(student, state)

    def run(noise: Tensor, _rows: Tensor, generator: torch.Generator, _place: slice) -> Tensor:
        return generate(model, noise, diffusion, config.sampler, generator)

    return Records(image_diffusion.drawn(run, state, request).records)
