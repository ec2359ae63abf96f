"""Hyper-parameters of a choice of public images."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.methods.base import MethodConfig
from workbench.training.switches import Switches

IMAGES, CHOICE = "public images", "votes for public images"  # the stages


class PublicChoiceConfig(MethodConfig):
    """Hyper-parameters of a choice of public images."""

    switches: ClassVar[Switches] = {"blur": (0.0,)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Deviation of the noise of every count, in votes; empty calibrates it."
    )
    candidates: tuple[str, ...] = Field(
        default=("glyphs", "processes"), description="Public datasets to choose among, each drawn at the records' size."
    )
    records: int = Field(default=1_000, ge=1, description="Public images of each candidate.")
    blur: float = Field(default=1.0, ge=0, le=64, description="Deviation, in pixels, of the blur of pixels that are compared; 0 for none.")

    @model_validator(mode="after")
    def _leaves_a_choice(self) -> Self:
        if len(set(self.candidates)) < max(2, len(self.candidates)):
            raise ValueError("Expected at least two candidates, each named once")
        return self
