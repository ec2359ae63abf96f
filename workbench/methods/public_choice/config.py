"""Hyper-parameters of a choice of public images."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from workbench.datasets import whole
from workbench.datasets.joined import JOIN
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
        default=("glyphs", "processes"), description="Public images to choose among, names or folders, each at the records' size."
    )
    records: int = Field(default=1_000, ge=1, description="Public images of each candidate.")
    blur: float = Field(default=1.0, ge=0, le=64, description="Deviation, in pixels, of the blur of pixels that are compared; 0 for none.")

    @field_validator("candidates")
    @classmethod
    def _wherever_it_is_read(cls, candidates: tuple[str, ...]) -> tuple[str, ...]:
        """Paths are whole, as a run begins in another folder."""
        return tuple(map(whole, candidates))

    @model_validator(mode="after")
    def _leaves_a_choice(self) -> Self:
        if len(set(self.names)) < max(2, len(self.candidates)):
            raise ValueError("Expected at least two candidates whose last names differ")
        if any(JOIN in name for name in self.candidates):
            raise ValueError(f"Expected candidates without a {JOIN} in their names, which joins them")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What the candidates are called: registered names, and the last names of folders."""
        return tuple(Path(name).name for name in self.candidates)
