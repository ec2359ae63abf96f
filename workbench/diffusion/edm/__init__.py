"""The diffusion of Karras et al. 2022 (EDM): noise of any level sigma on the record itself, a preconditioned denoiser, its samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.diffusion.edm.config import Churn, EDMConfig, EDMSamplerConfig
from workbench.diffusion.edm.noise_levels import karras_sigmas
from workbench.diffusion.edm.process import EDM
from workbench.diffusion.edm.samplers import EDMSampler, ddim, heun
from workbench.diffusion.guidance import classifier_free
from workbench.errors import choose
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.diffusion.guidance import Model
    from workbench.diffusion.walk import OnStep

EDM_SAMPLERS: dict[str, EDMSampler] = {"ddim": ddim, "heun": heun}

__all__ = ["EDM", "EDM_SAMPLERS", "Churn", "EDMConfig", "EDMSampler", "EDMSamplerConfig", "ddim", "generate", "heun", "karras_sigmas"]


def generate(
    model: Model,
    noise: Tensor,
    edm: EDM,
    sampler: EDMSamplerConfig,
    generator: torch.Generator,
    *,
    labels: Tensor | None = None,
    on_step: OnStep | None = None,
) -> Tensor:
    """Records (B, ...) in [-1, 1] if clipped, from standard normal `noise` (B, ...) by a network that `edm` preconditions.

    `labels` int64 (B,) are embedding rows (0 unconditional, class c is c + 1), None unconditional.
    """
    guided = classifier_free(edm.denoiser(model), labels, sampler.guidance_scale)
    churn = Churn(sampler.churn, sampler.churn_sigma_min, sampler.churn_sigma_max, sampler.churn_noise)
    sigmas = karras_sigmas(sampler.num_inference_steps, sampler.sigma_min, sampler.sigma_max, sampler.rho)
    run = choose(sampler.name, EDM_SAMPLERS, "sampler")
    return run(guided, sigmas[0] * noise, sigmas, churn, generator, clip_x_start=sampler.clip_x_start, on_step=on_step)
