"""Configurations of the process and of sampling: inert values that a method's Config embeds."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.diffusion.process import Weighting
from workbench.diffusion.schedules import Spacing


class DiffusionConfig(BaseModel):
    """Which Gaussian diffusion process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schedule: Literal["linear", "cosine"] = Field(default="linear", description="Noise schedule; linear is 1e-4 to 2e-2 at any length.")
    timesteps: int = Field(default=1000, ge=1, le=10_000, description="Number of noising steps T.")
    prediction: Literal["epsilon", "v"] = Field(default="epsilon", description="What the network predicts: the noise, or v.")
    weighting: Weighting = Field(
        default="none", description="Weight of a time step in the denoising loss: none, or by its signal over noise, up to 5 (min-snr)."
    )


class SamplerConfig(BaseModel):
    """Which sampler, and how it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["ddim", "ddpm", "dpm-solver++"] = Field(
        default="ddim", description="ddpm is ancestral; ddim skips steps, may be deterministic; dpm-solver++ needs the fewest steps."
    )
    num_inference_steps: int = Field(default=50, ge=1, le=10_000, description="Network evaluations per sample, at most the timesteps.")
    spacing: Spacing = Field(default="even", description="How the visited time steps lie: evenly, or quadratically closer towards the end.")
    eta: float = Field(default=1.0, ge=0.0, le=1.0, description="Share of fresh noise in each step: 0 is deterministic; ddpm needs 1.")
    guidance_scale: float = Field(default=0.0, ge=0.0, le=20.0, description="Guidance w: (1+w) conditional - w unconditional.")
    clip_x_start: bool = Field(default=True, description="Keep predicted images in [-1, 1] while sampling.")

    @model_validator(mode="after")
    def _ddpm_has_one_eta(self) -> Self:
        if self.name == "ddpm" and self.eta != 1.0:
            raise ValueError(f"Expected eta 1 for the ddpm sampler, got {self.eta}. Choose ddim or dpm-solver++ to vary eta.")
        return self
