"""Copies of training records among samples, and near-duplicates within one set: by distances of features alone.

Everything here looks at private records: it stays in the room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.nearest import nearest

RATIO_NEIGHBOURS = 50
LEAST_COPIES = 5
NATURAL_SHARE = 0.01  # of held-out records that lie as near to a training record as a copy is said to
_BLOCK = 2048


@dataclass(frozen=True)
class ExtractedRecord:
    """A training record that samples repeat: its position, those of the samples in the group, and the distance of their mean to it."""

    record: int
    samples: tuple[int, ...]
    distance: float


@dataclass(frozen=True)
class Leak:
    """How many samples (or groups of them) point to a training record, and how many to one of as many held-out records.

    Without copying both sets are exchangeable, so that each falls to either side with probability one half; `p` is the chance of as
    many on the side of training.
    """

    near_training: int
    near_held_out: int
    num_samples: int
    p: float

    @property
    def share(self) -> float:
        """Share of samples that are near a training record beyond what held-out records explain."""
        return (self.near_training - self.near_held_out) / self.num_samples

    @classmethod
    def of(cls, near_training: int, near_held_out: int, num_samples: int) -> Self:
        """With the p of a sign test."""
        from scipy.stats import binom

        return cls(near_training, near_held_out, num_samples, float(binom.sf(near_training - 1, near_training + near_held_out, 0.5)))

    @classmethod
    def below(cls, to_training: np.ndarray, to_held_out: np.ndarray, threshold: float) -> Self:
        """Samples whose distance or ratio (N,) to either set is at most `threshold`, which must not come from the samples."""
        return cls.of(int((to_training <= threshold).sum()), int((to_held_out <= threshold).sum()), len(to_training))


def distance_ratio(samples: np.ndarray, records: np.ndarray, k: int = RATIO_NEIGHBOURS) -> np.ndarray:
    """Each sample's distance to its nearest record over the mean to its k nearest, float64 (N,): near 0 for a copy, 1 where all are alike.

    Carlini et al. 2023, section 4: distances of different images compare only in relation to what is near them.
    """
    return ratios(nearest(samples, records, min(k, len(records)))[1])


def ratios(distances: np.ndarray) -> np.ndarray:
    """The first of every row's distances (N, k), nearest first, over their mean."""
    mean = distances.mean(axis=1)
    return np.divide(distances[:, 0], mean, out=np.ones(len(distances)), where=mean > 0)


def natural_distance(records: np.ndarray, held_out: np.ndarray, share: float = NATURAL_SHARE) -> float:
    """The distance to a training record within which a `share` of held-out records lies: what is nearer looks like a copy."""
    return float(np.quantile(nearest(held_out, records)[1][:, 0], share))


def duplicate_groups(points: np.ndarray, distance: float) -> list[np.ndarray]:
    """Groups of at least two points (N, D) that are linked by steps of at most `distance`, the largest first; positions in order."""
    return linked_groups(np.concatenate([np.zeros((0, 2), np.int64), *_pairs(points, distance)]), len(points))


def linked_groups(pairs: np.ndarray, num_points: int) -> list[np.ndarray]:
    """The groups of at least two of `num_points` that pairs (n, 2) of positions link, the largest first; positions in order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(num_points, num_points))
    _, labels = connected_components(graph, directed=False)
    groups = [np.flatnonzero(labels == label) for label in np.flatnonzero(np.bincount(labels) > 1)]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def duplicates_among(dataset: Dataset) -> dict[str, float]:
    """Near-duplicates among training records, before anything is trained: a bound speaks of one record, not of all that are like it.

    Two records are near if they are nearer than all but a hundredth of held-out records are to a training record. Private numbers.
    """
    train, held_out = (dataset.facts.kind.features(side.records) for side in (dataset.train, dataset.held_out))
    distance = natural_distance(train, held_out)
    groups = duplicate_groups(train, distance)
    exact = len(train) - len(np.unique(train, axis=0))
    involved, largest = sum(map(len, groups)), max(map(len, groups), default=1)
    return {"distance": distance, "groups": len(groups), "records": involved, "largest": largest, "equal_to_another": exact}


def extracted_records(samples: np.ndarray, records: np.ndarray, distance: float, least: int = LEAST_COPIES) -> list[ExtractedRecord]:
    """Training records that at least `least` samples repeat: groups of near-duplicates whose mean is within `distance` of a record.

    The attack of Carlini et al. 2023, which needs no record to find the groups: many samples, clustered; records only confirm.
    """
    copies = []
    for group in duplicate_groups(samples, distance):
        if len(group) >= least:
            index, away = nearest(samples[group].mean(axis=0, keepdims=True), records)
            if away[0, 0] <= distance:
                copies.append(ExtractedRecord(int(index[0, 0]), tuple(map(int, group)), float(away[0, 0])))
    return copies


def scores_by_class(judged: np.ndarray, nearest_judged: np.ndarray, classes: Sequence[str]) -> list[dict[str, Any]]:
    """The privacy score over all samples and of those judged to be of each class: the share whose nearest training record is of another.

    `baseline` is what the score would be with the samples' classes redrawn: the same shares of classes, without regard to the neighbour.
    A sampler that collapses a class moves both; only a score below its baseline says that neighbours are alike.
    """
    own, others = (np.bincount(of, minlength=len(classes)) / len(judged) for of in (judged, nearest_judged))
    unlike = judged != nearest_judged
    rows = [{"class": "all", "samples": len(judged), "score": float(unlike.mean()), "baseline": float(1 - own @ others)}]
    for label, name in enumerate(classes):
        if (of_class := judged == label).any():
            score, baseline = float(unlike[of_class].mean()), float(1 - others[label])
            rows.append({"class": name, "samples": int(of_class.sum()), "score": score, "baseline": baseline})
    return rows


def leak(samples: np.ndarray, records: np.ndarray, held_out: np.ndarray, distance: float, seed: int = 0) -> Leak:
    """Samples within `distance` of training and of held-out records, equally many of both: of the larger set a part drawn by `seed`."""
    if not len(samples):
        raise WorkbenchError("Expected at least one sample, got none.")
    to_training, to_held_out = (nearest(samples, side)[1][:, 0] for side in _equally_many(records, held_out, seed))
    return Leak.below(to_training, to_held_out, distance)


def _equally_many(records: np.ndarray, held_out: np.ndarray, seed: int) -> list[np.ndarray]:
    draw, size = np.random.default_rng(seed), min(len(records), len(held_out))
    return [points[draw.permutation(len(points))[:size]] for points in (records, held_out)]


def _pairs(points: np.ndarray, distance: float) -> Iterator[np.ndarray]:
    """Positions (n, 2) of pairs within `distance`, the first smaller; decided by direct difference."""
    wide = points.astype(np.float64)
    sizes = np.sum(wide * wide, axis=1)
    for start in range(0, len(wide), _BLOCK):
        block = wide[start : start + _BLOCK]
        squared = sizes[start : start + _BLOCK, None] + sizes[None, start:] - 2.0 * block @ wide[start:].T
        rows, columns = np.nonzero(squared <= distance * distance + 1e-9 * (sizes.max() + 1.0))
        rows, columns = rows[rows < columns], columns[rows < columns]
        difference = block[rows] - wide[start + columns]
        near = np.sqrt(np.einsum("nd,nd->n", difference, difference)) <= distance
        yield np.stack([start + rows[near], start + columns[near]], axis=1)
