"""How well samples lie among real records and spread over them: precision, recall, density, coverage, by exact k-nearest balls.

Kynkaanniemi et al. 2019 (precision and recall), Naeem et al. 2020 (density and coverage). A record's ball reaches to its k-th
nearest record of its own set, itself left out; a point is in it if it is strictly nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.errors import WorkbenchError
from workbench.evaluation.nearest import nearest

DEFAULT_K = 5
ROUNDING = 1e-11  # of |p|^2 + |c|^2: more than a product of float64 rounds by up to some thousand dimensions
_BLOCK = 2048


@dataclass(frozen=True)
class Manifolds:
    """The four values, of N samples and M records: which samples lie `in_real_balls`, bool (N,), with the `density_of` each, float (N,);
    which records lie `in_sample_balls`, and of which the own ball `has_sample`, bool (M,).
    """

    in_real_balls: np.ndarray
    density_of: np.ndarray
    in_sample_balls: np.ndarray
    has_sample: np.ndarray

    @property
    def values(self) -> dict[str, float]:
        """By the name of the measure: shares of samples and of records, and for density the mean number of balls over k."""
        parts = {"precision": self.in_real_balls, "recall": self.in_sample_balls, "density": self.density_of, "coverage": self.has_sample}
        return {name: float(part.mean()) for name, part in parts.items()}


def manifolds(samples: np.ndarray, records: np.ndarray, k: int = DEFAULT_K) -> Manifolds:
    """The four measures of features (N, D) of samples and (M, D) of real records; both sets need more than `k`."""
    if min(len(samples), len(records)) <= k:
        raise WorkbenchError(f"Expected more than {k} samples and records, got {len(samples)} and {len(records)}.")
    real_balls, sample_balls = radii(records, k), radii(samples, k)
    counts, covered = ball_counts(samples, records, real_balls)
    reached, _ = ball_counts(records, samples, sample_balls)
    return Manifolds(counts > 0, counts / k, reached > 0, covered)


def by_class(samples: np.ndarray, records: np.ndarray, labels: tuple[np.ndarray, np.ndarray], k: int = DEFAULT_K) -> dict[int, Manifolds]:
    """The measures within each class that has more than `k` samples and records; `labels` are those of both, (N,) and (M,)."""
    measures: dict[int, Manifolds] = {}
    for label in np.intersect1d(*labels):
        mine, theirs = samples[labels[0] == label], records[labels[1] == label]
        if min(len(mine), len(theirs)) > k:
            measures[int(label)] = manifolds(mine, theirs, k)
    return measures


def radii(points: np.ndarray, k: int) -> np.ndarray:
    """The distance of each point to its k-th nearest other one, float64 (N,)."""
    return nearest(points, points, k + 1)[1][:, k]


def ball_counts(points: np.ndarray, centres: np.ndarray, balls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In how many balls each point is, int64 (N,), and whether each ball has a point, bool (M,).

    Pairs nearer to the edge than a product may round are decided by direct difference, as the radii were measured.
    """
    centres = centres.astype(np.float64)
    counts, reached = [np.zeros(0, np.int64)], np.zeros(len(centres), bool)
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK].astype(np.float64)
        within = np.concatenate(
            [_within(block, centres[at : at + _BLOCK], balls[at : at + _BLOCK]) for at in range(0, len(centres), _BLOCK)], axis=1
        )
        counts.append(within.sum(axis=1))
        reached |= within.any(axis=0)
    return np.concatenate(counts), reached


def _within(points: np.ndarray, centres: np.ndarray, balls: np.ndarray) -> np.ndarray:
    """Whether each point (n, D) is in each ball, bool (n, m)."""
    sizes = np.sum(points * points, axis=1)[:, None] + np.sum(centres * centres, axis=1)
    squared = sizes - 2.0 * points @ centres.T
    within = squared < balls * balls
    rows, columns = np.nonzero(np.abs(squared - balls * balls) <= ROUNDING * sizes)
    difference = centres[columns] - points[rows]
    within[rows, columns] = np.sqrt(np.einsum("nd,nd->n", difference, difference)) < balls[columns]
    return within
