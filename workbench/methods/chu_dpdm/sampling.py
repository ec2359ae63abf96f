"""Sampling with the learned variances; samplers that need none take the predicted noise alone."""

import torch
from torch import Tensor

from workbench.diffusion import GaussianDiffusion, SamplerConfig, generate
from workbench.diffusion.guidance import Model
from workbench.diffusion.learned_variance import learned_ancestral
from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State


def sample(config: ChuDPDMConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average of the weights."""
    return image_diffusion.draw_samples(config, image_diffusion.averaged(state), state, request, draw=drawn)


def drawn(
    model: Model,
    x: Tensor,
    diffusion: GaussianDiffusion,
    sampler: SamplerConfig,
    generator: torch.Generator,
    *,
    labels: Tensor | None = None,
    start: int | None = None,
) -> Tensor:
    """Records from noise `x`, as `generate`: ddpm draws with the learned variances."""
    if sampler.name == "ddpm":
        return learned_ancestral(model, x, diffusion, sampler, generator, labels=labels, start=start)

    def predicted(x_t: Tensor, t: Tensor, rows: Tensor | None) -> Tensor:
        return model(x_t, t, rows).chunk(2, dim=1)[0]

    return generate(predicted, x, diffusion, sampler, generator, labels=labels, start=start)
