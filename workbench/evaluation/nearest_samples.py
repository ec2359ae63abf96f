"""The samples that lie nearest to each training and held-out record, and how near that is beside records that took no part.

Everything here looks at private records: none of it may leave the room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.datasets.base import Dataset
from workbench.evaluation.features import FeatureSpace
from workbench.evaluation.nearest import ignore_progress, nearest
from workbench.evaluation.neighbours import share_below
from workbench.records import Records

Side = Literal["training", "held-out"]


@dataclass(frozen=True)
class NearestSamples:
    """Per record its k nearest samples in one feature space, nearest first; `features` is the space's label.

    `indices` int64 and `distances` float64 (N, k) are of `dataset.train`, the others (M, k) of `dataset.held_out`.
    """

    features: str
    indices: np.ndarray
    distances: np.ndarray
    held_out_indices: np.ndarray
    held_out_distances: np.ndarray

    def of(self, side: Side, record: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices and distances (k,) of the samples nearest to one record."""
        if side == "training":
            return self.indices[record], self.distances[record]
        return self.held_out_indices[record], self.held_out_distances[record]

    def nearer_than(self, side: Side, record: int) -> float:
        """The share of (other) held-out records whose nearest sample lies farther away; a tie counts half, NaN where there are none."""
        others = self.held_out_distances[:, 0]
        return share_below(self.of(side, record)[1][0], others if side == "training" else np.delete(others, record))


def find_nearest_samples(
    samples: Records, dataset: Dataset, space: FeatureSpace, k: int, progress: Callable[[float], None] | None = None
) -> NearestSamples:
    """The k nearest samples of every record, or all where there are fewer; `progress` gets 0..1."""
    report = progress or ignore_progress
    base, count = space(samples), min(k, len(samples))
    training = nearest(space(dataset.train), base, count, lambda share: report(0.8 * share))
    held_out = nearest(space(dataset.held_out), base, count, lambda share: report(0.8 + 0.2 * share))
    return NearestSamples(space.label, *training, *held_out)
