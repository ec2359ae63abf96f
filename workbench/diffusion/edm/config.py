"""Configurations of EDM and of sampling from it: inert values that a method's Config embeds."""

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class EDMConfig(BaseModel):
    """Which noise a denoiser is trained on, and the spread that its preconditioning takes records to have: public numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    sigma_data: float = Field(
        default=3**-0.5,
        ge=1e-3,
        le=1e3,
        description="Standard deviation that pixels are taken to have; sqrt(1/3) is that of even values in [-1, 1].",
    )
    log_sigma_mean: float = Field(default=-1.2, ge=-20, le=20, description="Mean of the logarithm of the noise levels that are trained.")
    log_sigma_std: float = Field(default=1.2, ge=1e-3, le=10, description="Standard deviation of that logarithm.")
    embedding_scale: float = Field(
        default=1.0,
        ge=1e-3,
        le=1e3,
        description="Factor of c_noise before its sinusoids, which repeat after 2 pi or later: 1 is EDM's, 16 finer.",
    )


@dataclass(frozen=True)
class Churn:
    """Fresh noise of a stochastic sampler (Karras et al. 2022, Algorithm 2): S_churn, S_min, S_max and S_noise; amount 0 is none."""

    amount: float = 0.0
    sigma_min: float = 0.05
    sigma_max: float = 50.0
    noise: float = 1.007


class EDMSamplerConfig(BaseModel):
    """Which sampler on which noise levels."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Literal["ddim", "heun"] = Field(
        default="heun", description="heun is of second order and calls the network twice a step; ddim is of first order."
    )
    num_inference_steps: int = Field(default=18, ge=1, le=10_000, description="Noise levels that are visited.")
    sigma_min: float = Field(default=0.002, ge=1e-6, le=1e6, description="Lowest noise level before none.")
    sigma_max: float = Field(default=80.0, ge=1e-6, le=1e6, description="Noise level that sampling starts from.")
    rho: float = Field(default=7.0, ge=1, le=100, description="How much closer levels lie towards the lowest; 1 is evenly.")
    churn: float = Field(default=0.0, ge=0, le=1e6, description="Fresh noise over all steps, S_churn; 0 is deterministic.")
    churn_sigma_min: float = Field(default=0.05, ge=0, le=1e6, description="Lowest noise level at which fresh noise is added, S_min.")
    churn_sigma_max: float = Field(default=50.0, ge=0, le=1e6, description="Highest noise level at which fresh noise is added, S_max.")
    churn_noise: float = Field(default=1.007, ge=1e-3, le=1e3, description="Standard deviation of the fresh noise, S_noise.")
    guidance_scale: float = Field(default=0.0, ge=0.0, le=20.0, description="Guidance w: (1+w) conditional - w unconditional.")
    clip_x_start: bool = Field(default=True, description="Keep predicted images in [-1, 1] while sampling.")

    @model_validator(mode="after")
    def _levels_fall(self) -> Self:
        if self.sigma_min >= self.sigma_max:
            raise ValueError(f"Expected sigma_min below sigma_max, got {self.sigma_min} and {self.sigma_max}.")
        return self
