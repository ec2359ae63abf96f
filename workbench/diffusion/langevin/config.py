"""Noise levels and steps of Langevin sampling: an inert value that a method's Config embeds."""

from pydantic import BaseModel, ConfigDict, Field


class LangevinConfig(BaseModel):
    """Which noise levels there are, and how many steps are taken at each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    largest: float | None = Field(
        default=None, ge=1e-6, le=1e6, description="Largest noise level; empty takes the largest distance that two images can have."
    )
    smallest: float = Field(default=0.01, ge=1e-6, le=1e6, description="Smallest noise level, of pixels in [-1, 1].")
    levels: int | None = Field(default=None, ge=2, le=2_000, description="Number of noise levels; empty takes NCSNv2's rule.")
    steps_per_level: int = Field(default=5, ge=1, le=1_000, description="Langevin steps at each level.")
    step_share: float | None = Field(
        default=None, ge=1e-9, lt=1, description="Step over the level's variance; empty takes the one that leaves each level at its own."
    )
