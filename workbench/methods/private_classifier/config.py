"""Hyper-parameters of a private classifier."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import MethodConfig
from workbench.training.switches import Switches


class PrivateClassifierConfig(MethodConfig):
    """Hyper-parameters of a private classifier on scattering features, and of the public images that it labels."""

    switches: ClassVar[Switches] = {"steps": (1, 2)}

    noise_multiplier: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="Noise of all steps together, over the norm of one record's gradient; empty calibrates it.",
    )
    steps: int = Field(default=20, ge=1, le=10_000, description="Noisy gradients of all records, each of the weights so far.")
    learning_rate: float = Field(default=4.0, ge=1e-6, le=1e6, description="What a step moves the weights by, over the mean gradient.")
    momentum: float = Field(
        default=0.0, ge=0, lt=1, description="Part of a step's move that the next one repeats, by post-processing of noisy gradients."
    )
    max_grad_norm: float = Field(default=1.0, ge=1e-6, le=1e3, description="Norm that a record's gradient is clipped to.")
    averaged: float = Field(
        default=0.5, ge=1e-4, le=1, description="Part of the steps, the last ones, whose weights are averaged to what is released."
    )
    octaves: int = Field(default=2, ge=1, le=4, description="Widths of the wavelets, each twice the one before.")
    orientations: int = Field(default=6, ge=1, le=16, description="Directions of the wavelets, evenly over half a turn.")
    cells: int = Field(default=2, ge=1, le=16, description="Squares of each side that responses are averaged over.")
    components: int = Field(default=100, ge=1, le=2_000, description="Principal components of public images' features, at most.")
    whitening: float = Field(default=0.5, ge=1e-4, le=1, description="How far components are brought to one variance: 1 makes all alike.")
    dataset: str = Field(default="processes", min_length=1, description="Public images: they scale the features and are labelled.")
    records: int = Field(default=40_000, ge=1, description="How many of them.")
    kept: float = Field(
        default=0.25, ge=1e-4, le=1, description="Part of an even share of the public images by class that is kept, where it is surest of."
    )

    @model_validator(mode="after")
    def _averages_a_step(self) -> Self:
        if self.averaged_steps < 1:
            raise ValueError("Expected averaged weights of at least one step")
        return self

    @property
    def averaged_steps(self) -> int:
        """How many of the last steps' weights are averaged."""
        return max(1, round(self.averaged * self.steps))

    def numbers_of_features(self, facts: DatasetFacts) -> int:
        """Numbers of an image's features before the principal components: averages, responses, and responses of responses."""
        pairs = self.octaves * (self.octaves - 1) // 2
        maps = facts.shape[0] + self.octaves * self.orientations + pairs * self.orientations**2
        return maps * self.cells**2

    def used_components(self, facts: DatasetFacts) -> int:
        """Components that are used: no more than there are features."""
        return min(self.components, self.numbers_of_features(facts))

    def kept_images(self, facts: DatasetFacts) -> int:
        """Public images that are kept of each class."""
        return max(1, int(self.kept * self.records / max(facts.num_classes, 1)))
