"""Sampling with the learned variances; samplers that need none take the predicted noise alone. The bound that they were learnt by."""

import numpy as np
import torch
from torch import Tensor

from workbench.diffusion import GaussianDiffusion, SamplerConfig, build_diffusion, generate
from workbench.diffusion.guidance import Model
from workbench.diffusion.learned_variance import LearnedVariances, learned_ancestral
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


def bits_per_dimension(config: ChuDPDMConfig, state: State, data: Records, seed: int) -> np.ndarray:
    """L_vlb of every record under the moving average, with its label, in bits per dimension, float64 (N,)."""
    variances = LearnedVariances(build_diffusion(config.diffusion))
    model = image_diffusion.ordinary(image_diffusion.averaged(state), state)
    images, rows = image_diffusion.entries(data, state.device)
    generator = torch.Generator(state.device).manual_seed(seed)
    parts = torch.arange(len(images)).split(image_diffusion.SAMPLE_BATCH[state.device.type])
    found = [variances.bound(model, images[part], generator, rows[part.to(rows.device)]) for part in parts]
    return np.concatenate([np.zeros(0), *(part.double().cpu().numpy() for part in found)])
