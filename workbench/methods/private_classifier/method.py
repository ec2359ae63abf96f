"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, Workload
from workbench.methods.private_classifier import stages
from workbench.methods.private_classifier.config import PrivateClassifierConfig
from workbench.methods.private_classifier.stages import FEATURES, GRADIENTS
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    import numpy as np

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
    released: ClassVar[tuple[str, ...]] = ("origin", "axes", "gradients", "labelled_images")
    workload: ClassVar[Workload] = Workload(
        {FEATURES: ("records",), GRADIENTS: ("num_records",)}, ("octaves", "orientations", "cells", "components", "kept")
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: PrivateClassifierConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """As many cells as suit the images' size, and as many steps and components as so many records drown the noise of."""
        found: dict[str, Any] = {"cells": max(2, min(facts.shape[1:]) // PIXELS_OF_A_CELL)}
        for fewest, values in BY_RECORDS.items():
            found |= values if facts.num_records >= fewest else {}
        return found

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
        """The features (free), the steps, and the labelled images (free)."""
        return stages.stages(self.config)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, for images that nobody drew beforehand: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for features, weights and images."""
        from workbench.methods.private_classifier import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Scale features by public images, take the noisy steps, label public images."""
        from workbench.methods.private_classifier import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Public images under the classifier's labels."""
        from workbench.methods.private_classifier import sampling

        return sampling.sample(state, request)

    def classify(self, state: State, records: Records) -> np.ndarray:
        """The class that the released classifier gives each record."""
        from workbench.methods.private_classifier import sampling

        return sampling.classified(self.config, state, records)
