"""Which discrete diffusion: inert values that a method's Config embeds."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DiscreteConfig(BaseModel):
    """A process over categories, and where sampling ends."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    schedule: Literal["cosine", "linear", "cubic"] = Field(
        default="cosine", description="How the chance of an untouched value falls: cosine, linear, or cubic, which is the fastest."
    )
    timesteps: int = Field(default=50, ge=1, le=1000, description="Number of noising steps T.")
    smoothing: float = Field(
        default=1e-3, ge=1e-9, lt=1, description="xi: share of the last reverse step's distributions that is spread over all categories."
    )
