"""Exact nearest neighbours of generated records among training and held-out ones, and what they say about copying.

Everything here looks at private records: none of it may leave the room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import Dataset
from workbench.evaluation.features import FeatureSpace
from workbench.evaluation.intervals import normal
from workbench.evaluation.nearest import ignore_progress, nearest
from workbench.records import Records

OUTSIDE_GUARANTEE = (
    "This shows private training and held-out records: looking at them, or passing them on, is outside the privacy guarantee, "
    "whatever epsilon the samples carry."
)
PRIVACY_SCORE_CAVEAT = (
    "The privacy score is not a privacy guarantee: a sampler that collapses an attribute to one value scores the share of the other "
    "value, and noise scores high as well. Copies score 0."
)


@dataclass(frozen=True)
class Neighbours:
    """Per generated record: its k nearest training records and its nearest held-out one, in one feature space.

    `indices` int64 and `distances` float64 (N, k), nearest first, index `dataset.train`; `held_out_indices` and
    `held_out_distances` (N,) index `dataset.held_out`. `features` is the label of the feature space.
    """

    features: str
    indices: np.ndarray
    distances: np.ndarray
    held_out_indices: np.ndarray
    held_out_distances: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def suspicion(self) -> np.ndarray:
        """h / (t + h) (N,) with t and h the distances to the nearest training and held-out record.

        1 for an exact copy of a training record, above 0.5 where the training record is nearer, 0.5 if both are 0. With
        more training than held-out records it lies somewhat above 0.5 without any copying: it sorts, it proves nothing.
        """
        total = self.distances[:, 0] + self.held_out_distances
        return np.divide(self.held_out_distances, total, out=np.full(len(total), 0.5), where=total > 0)

    def order(self) -> np.ndarray:
        """Positions of the samples, the most suspicious first."""
        return np.argsort(-self.suspicion, kind="stable")


def find_neighbours(
    samples: Records, dataset: Dataset, space: FeatureSpace, k: int = 5, progress: Callable[[float], None] | None = None
) -> Neighbours:
    """The k nearest training records and the nearest held-out record of every sample; `progress` gets 0..1."""
    report = progress or ignore_progress
    train, held_out, queries = space(dataset.train), space(dataset.held_out), space(samples)
    training = nearest(queries, train, min(k, len(train)), lambda share: report(0.8 * share))
    others = nearest(queries, held_out, 1, lambda share: report(0.8 + 0.2 * share))
    return Neighbours(space.label, *training, others[0][:, 0], others[1][:, 0])


@dataclass(frozen=True)
class NearerShare:
    """The share of samples nearer to training than to held-out records.

    `value` is over subsets of `subset_size` records each: without copying, expect 0.5, within `interval` (95 %).
    `full` is over all training and held-out records, where no copying gives `full_expected`; it sees every copy, while a
    subset sees only the copies of its own records.
    """

    value: float
    interval: tuple[float, float] | None
    subset_size: int
    full: float
    full_expected: float


def nearer_to_training(samples: np.ndarray, train: np.ndarray, held_out: np.ndarray, seed: int = 0) -> NearerShare:
    """Compare features (N, D) of samples with equally many training and held-out records, the larger set cut down by `seed`.

    A tie counts half. The interval's width is exact under exchangeability: which of the 2m records is nearest does not
    depend on which m of them were trained on, so the share's variance is m/2 times the variance of the hits per record,
    over N^2. The features must not come from the training records, or the split is not exchangeable.
    """
    generator = np.random.default_rng([seed, 1])  # apart from the stream that draws the ceiling's records
    size = min(len(train), len(held_out))
    of_train, of_held_out = (np.sort(generator.permutation(len(part))[:size]) for part in (train, held_out))
    i, to_train = nearest(samples, train[of_train])
    j, to_held_out = nearest(samples, held_out[of_held_out])
    share, interval = exchangeable_share(to_train[:, 0], to_held_out[:, 0], i[:, 0], j[:, 0], size)
    full = share_below(nearest(samples, train)[1], nearest(samples, held_out)[1])
    return NearerShare(share, interval, size, full, len(train) / (len(train) + len(held_out)))


def exchangeable_share(
    to_train: np.ndarray, to_held_out: np.ndarray, nearest_train: np.ndarray, nearest_held_out: np.ndarray, size: int
) -> tuple[float, tuple[float, float] | None]:
    """The share nearer to training and its interval, from distances (N,) and positions (N,) among `size` records of each side."""
    share = share_below(to_train, to_held_out)
    hits = np.bincount(np.where(to_train <= to_held_out, nearest_train, size + nearest_held_out), minlength=2 * size)
    error = float(np.sqrt(size / 2 * np.var(hits, ddof=1)) / len(to_train))
    return share, normal(share, error, 0.0, 1.0)


def share_below(a: np.ndarray, b: np.ndarray) -> float:
    """The share of pairs with the value of `a` below that of `b`, a tie counts half; NaN of no pair."""
    if not np.size(b):
        return float("nan")
    return float(np.mean(np.where(a == b, 0.5, a < b)))


def privacy_score(
    samples: Records, train: Records, features: np.ndarray, train_features: np.ndarray, classify: Callable[[Records], np.ndarray]
) -> float:
    """Share of samples whose class differs from that of the training record nearest in feature space; 0 for copies.

    P3DM (2024), Algorithm 2: features (N, D) and (M, D) belong to `samples` and `train`; `classify` gives classes (N,) by a
    classifier of clean images that is not the one that made the features. Read it with `PRIVACY_SCORE_CAVEAT`.
    """
    index, _ = nearest(features, train_features)
    return float(np.mean(classify(samples) != classify(train.take(index[:, 0]))))
