"""What odd methods on tables share: one Gaussian release of all counts, and rows drawn from it; no network."""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch

from support.noise import NoiseConfig
from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records, TableKind
from workbench.training.grid import Grid
from workbench.training.state import State, Step


class CountedTable(Method):
    """A table of categories: one Gaussian release of all one-way marginals per class; rows drawn from them."""

    source = "tests"
    kinds = frozenset({"table"})
    Config = NoiseConfig
    calibrated_fields = (CalibratedField("noise_multiplier"),)
    released: ClassVar[tuple[str, ...]] = ("marginals",)
    config: NoiseConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """One release, replace-one distance sqrt(2 columns); a record that is made null leaves one cell a column, sqrt(columns)."""
        assert self.config.noise_multiplier
        event = ReplaceOneGaussianDpEvent(self.config.noise_multiplier, zero_out_ratio=math.sqrt(0.5))
        return [
            Stage(
                "release",
                event,
                "once",
                relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
                sampling="all records, once",
            )
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_evaluated", reason="It has no paper.")

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the release."""
        state.tensors = {"marginals": torch.zeros(facts.num_classes, sum(TableKind.of(facts.kind).categories))}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Count, add noise, once, on a public grid."""
        if state.steps.get("release"):
            return
        state.spend("release", 1)
        state.tensors["marginals"] = self.released_counts(self.counts(data, state.facts), "release", state)
        state.steps["release"] = 1
        yield Step("release", 1, 1)

    def grid(self, facts: DatasetFacts) -> Grid:
        """Where counts are released; a record adds one to a cell of every column."""
        assert self.config.noise_multiplier
        columns = len(TableKind.of(facts.kind).categories)
        deviation = self.config.noise_multiplier * math.sqrt(2 * columns)
        return Grid(deviation, max_norm=math.sqrt(columns), num_records=facts.num_records)

    def counts(self, data: Records, facts: DatasetFacts) -> np.ndarray:
        """How often each value occurs in each class, in steps of the grid: int64 (classes, all categories)."""
        assert data.labels is not None
        sizes = TableKind.of(facts.kind).categories
        cells = np.zeros((len(data), sum(sizes)))
        cells[np.arange(len(data))[:, None], data.records + np.cumsum([0, *sizes[:-1]])] = data.mask[:, None]
        counts = np.zeros((facts.num_classes, sum(sizes)), np.int64)
        np.add.at(counts, data.labels, self.grid(facts).truncated(cells))
        return counts

    def released_counts(self, counts: np.ndarray, purpose: str, state: State) -> torch.Tensor:
        """The counts with noise of the stream `purpose`."""
        return torch.from_numpy(state.randomness.release(purpose, 1, counts, self.grid(state.facts))).float()

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Independent columns given the class."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        draw = state.randomness.stream(request.purpose)
        columns, start = [], 0
        for size in TableKind.of(state.facts.kind).categories:
            weights = state.tensors["marginals"][:, start : start + size].clamp(min=1e-3).numpy().astype(np.float64)
            shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[labels]
            columns.append(np.minimum((draw.random(len(labels))[:, None] > shares).sum(axis=1), size - 1))
            start += size
        return Records(np.stack(columns, axis=1).astype(np.int64), labels)
