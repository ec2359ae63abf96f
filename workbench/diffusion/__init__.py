"""Diffusion without privacy: schedules, the Gaussian process, samplers, guidance.

Other processes have folders of their own: `edm`, `discrete` (over categories), `langevin` (annealed, by a score).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from workbench.diffusion.config import DiffusionConfig, SamplerConfig
from workbench.diffusion.guidance import classifier_free
from workbench.diffusion.process import GaussianDiffusion
from workbench.diffusion.samplers import Sampler, ddim, ddpm, dpm_solver
from workbench.diffusion.schedules import NoiseSchedule, cosine_betas, linear_betas
from workbench.errors import WorkbenchError, choose
from workbench.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.diffusion.guidance import Model
    from workbench.diffusion.walk import OnStep

SCHEDULES: dict[str, Callable[[int], np.ndarray]] = {"linear": linear_betas, "cosine": cosine_betas}
SAMPLERS: dict[str, Sampler] = {"ddim": ddim, "ddpm": ddpm, "dpm-solver++": dpm_solver}

MAX_FINAL_SIGNAL = 0.05  # alphas_cumprod[T] above which samplers, which start from pure noise, would start wrong

__all__ = [
    "SAMPLERS",
    "SCHEDULES",
    "DiffusionConfig",
    "GaussianDiffusion",
    "NoiseSchedule",
    "SamplerConfig",
    "build_diffusion",
    "build_schedule",
    "classifier_free",
    "cosine_betas",
    "ddim",
    "ddpm",
    "dpm_solver",
    "generate",
    "linear_betas",
]


def build_schedule(config: DiffusionConfig) -> NoiseSchedule:
    """The schedule of `config`; refuses one that still shows the record at its last step."""
    schedule = NoiseSchedule(choose(config.schedule, SCHEDULES, "schedule")(config.timesteps))
    final_signal = float(schedule.alphas_cumprod[-1])
    if final_signal > MAX_FINAL_SIGNAL:
        raise WorkbenchError(
            f"Expected a schedule that ends in noise (alphas_cumprod at most {MAX_FINAL_SIGNAL}), got {final_signal:.3g} for "
            f"{config.schedule} with {config.timesteps} timesteps. Use more timesteps or the cosine schedule."
        )
    return schedule


def build_diffusion(config: DiffusionConfig) -> GaussianDiffusion:
    """The process of `config`."""
    return GaussianDiffusion(build_schedule(config), config.prediction, config.weighting)


def generate(
    model: Model,
    x: Tensor,
    diffusion: GaussianDiffusion,
    sampler: SamplerConfig,
    generator: torch.Generator,
    *,
    labels: Tensor | None = None,
    on_step: OnStep | None = None,
    start: int | None = None,
) -> Tensor:
    """Records (B, ...) in [-1, 1] if clipped, from `x` (B, ...) at time `start` by a network of either prediction.

    At the last time step, which None stands for, `x` is standard normal. `labels` int64 (B,) are embedding rows (0
    unconditional, class c is c + 1), None unconditional.
    """
    guided = classifier_free(model, labels, sampler.guidance_scale)

    def denoise(x_t: Tensor, t: Tensor) -> Tensor:
        return diffusion.predict_noise(guided(x_t, t), x_t, t)

    times = diffusion.schedule.inference_timesteps(sampler.num_inference_steps, sampler.spacing, start)
    run = choose(sampler.name, SAMPLERS, "sampler")
    return run(denoise, x, diffusion, times, sampler.eta, generator, clip_x_start=sampler.clip_x_start, on_step=on_step)
