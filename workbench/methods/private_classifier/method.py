"""A private classifier: linear on scattering features that public images scale, by noisy gradients of all records.

Released is the classifier. Samples are public images that it is surest of, under the labels that it gives them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State
from workbench.training.switches import Switches

if TYPE_CHECKING:
    import numpy as np


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

    def of_size(self, rows: float, least: int) -> Self:
        """With so many public images: the features' time grows with them."""
        return self.model_copy(update={"records": max(least, round(rows))})

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


FEATURES, GRADIENTS, LABELLED = "public features", "gradients", "labelled public images"
REASON = (
    "In a step every record adds its gradient, clipped to norm C, at weights that follow from earlier noisy sums: making it null moves the "
    "sum by at most C, replacing it by at most 2 C, as two gradients may be opposite."
)


def multiplier(config: PrivateClassifierConfig) -> float:
    """Noise of a step over the clipping norm: all steps together are one Gaussian of the configured multiplier."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return config.noise_multiplier * math.sqrt(config.steps)


PIXELS_OF_A_CELL = 7  # a side, so that 28x28 have 4x4 cells
BY_RECORDS: dict[int, dict[str, Any]] = {  # chosen on Fashion-MNIST's training records at bounds 1, 3 and 10 (docs/tried.md)
    2_000: {"steps": 40, "learning_rate": 10.0, "momentum": 0.9},
    10_000: {"components": 300, "whitening": 1.0},
    40_000: {"steps": 100, "learning_rate": 20.0},
}


class PrivateClassifier(Method):
    """Noisy gradients of a linear classifier on scattering features; public images that it is surest of, with its labels."""

    name = "private-classifier"
    title = "Private classifier of public images"
    source = "the workbench's own: noisy gradients (Song et al. 2013) on scattering features (Tramer and Boneh 2021)"
    Config = PrivateClassifierConfig
    implementation = "workbench.methods.private_classifier.training"
    released: ClassVar[tuple[str, ...]] = ("origin", "axes", "gradients", "labelled_images")
    shapes: ClassVar[tuple[str, ...] | None] = ("octaves", "orientations", "cells", "components", "kept")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: PrivateClassifierConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """As many cells as suit the images' size, and as many steps and components as so many records drown the noise of."""
        chosen: dict[str, Any] = {"cells": max(2, min(facts.shape[1:]) // PIXELS_OF_A_CELL)}
        for fewest, values in BY_RECORDS.items():
            chosen |= values if facts.num_records >= fewest else {}
        return chosen

    @property
    def public_dataset(self) -> str:
        """The images that scale the features and are labelled."""
        return self.config.dataset

    @property
    def public_records(self) -> int:
        """How many of them."""
        return self.config.records

    @property
    def selects_public(self) -> bool:
        """All that it draws are public images."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The features by public images (free), the steps, and public images labelled (free)."""
        event = ReplaceOneGaussianDpEvent(multiplier(self.config) / 2.0, zero_out_ratio=0.5)
        steps = Stage(
            name=GRADIENTS,
            event=event,
            spent="per_step",
            steps=self.config.steps,
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records in every step",
            reason=REASON,
        )
        return [Stage(FEATURES, None, "free", rows=self.config.records), steps, Stage(LABELLED, None, "free")]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, for images that nobody drew beforehand: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def classify(self, state: State, records: Records) -> np.ndarray:
        """The class that the released classifier gives each record."""
        return self.implemented.classify(self.config, state, records)
