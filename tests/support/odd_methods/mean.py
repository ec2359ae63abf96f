"""The example of docs/contribute/own-method.md: the noisy mean image of each class, drawn as it is."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from pydantic import Field

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.lazy import torch
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State, Step

SUMS, NORM = "class sums", 4.0  # images are clipped to this norm
REASON = "A record adds one clipped image: made null it moves the sums by the norm, replaced by sqrt 2 of it, as no pixel is negative."


class MeanConfig(MethodConfig):
    """What the guarantee depends on."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over the norm of an image; empty calibrates it."
    )


class Mean(Method):
    """One Gaussian release: sums of clipped images by class."""

    name, title, source = "odd-mean", "Noisy mean images", "the example of the guide"
    Config = MeanConfig
    released: ClassVar[tuple[str, ...]] = ("sums",)
    shapes: ClassVar[tuple[str, ...] | None] = ()
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: MeanConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """A null record moves the sums by NORM; two images have no negative numbers, so replacing one moves them by at most sqrt 2 NORM."""
        assert self.config.noise_multiplier is not None
        event = ReplaceOneGaussianDpEvent(self.config.noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5))
        return [Stage(SUMS, event, "once", relations=("REPLACE_SPECIAL", "REPLACE_ONE"), sampling="all records, once", reason=REASON)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper claims anything."""
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason="An example: no paper.", source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the release."""
        state.tensors = {"sums": torch.zeros(max(facts.num_classes, 1), facts.dimensions, dtype=torch.float64, device=state.device)}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Recorded as spent before a record is read; clipped and summed in integers, with exact noise."""
        if state.steps.get(SUMS, 0) == 0:
            state.spend(SUMS, 1)
            assert self.config.noise_multiplier is not None
            grid = Grid(self.config.noise_multiplier * NORM, NORM, state.facts.num_records)
            images, labels = (
                data.records.reshape(len(data), -1) / 255,
                np.zeros(len(data), np.int64) if data.labels is None else data.labels,
            )
            total = np.zeros(tuple(state.tensors["sums"].shape), np.int64)
            np.add.at(total, labels, grid.truncated(images) * data.mask[:, None])
            state.tensors["sums"] = torch.from_numpy(state.randomness.release(SUMS, 1, total, grid)).to(state.device)
            state.steps[SUMS] = 1
            yield Step(SUMS, 1, 1)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """The mean of the asked class, its largest pixel white: post-processing, which costs nothing."""
        labels = request.label_array(state.facts.num_classes)
        sums = state.tensors["sums"].cpu().numpy().clip(0)
        images = (sums / sums.max(axis=1, keepdims=True).clip(1e-12))[np.zeros(request.num_samples, np.int64) if labels is None else labels]
        return Records(to_uint8(2.0 * images.reshape(-1, *state.facts.shape) - 1.0), labels)
