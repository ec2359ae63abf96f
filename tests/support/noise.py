"""The configuration that several odd methods share."""

from pydantic import Field

from workbench.methods.base import MethodConfig


class NoiseConfig(MethodConfig):
    """A single noise multiplier."""

    noise_multiplier: float | None = Field(default=None, gt=0, description="Noise over the sensitivity; empty calibrates it.")
