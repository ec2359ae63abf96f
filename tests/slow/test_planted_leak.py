"""A leak planted among MNIST's records is found by every measure of copying, and none is found where there is none.

Each repetition divides 30 000 records anew into training, comparison and null samples; distances between them are computed once.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.leaks import group_means, leak_of, order_leak

from workbench.datasets import load
from workbench.evaluation.copying import (
    LEAST_COPIES,
    NATURAL_SHARE,
    RATIO_NEIGHBOURS,
    Leak,
    linked_groups,
    ratios,
)
from workbench.evaluation.nearest import nearest
from workbench.evaluation.neighbours import Neighbours, exchangeable_share

SIZE, NEIGHBOURS = 10_000, 260  # of each set; of every record, so that fifty of a random third are among them
REPETITIONS, LEVEL, POWER, FALSE_ALARMS = 50, 0.05, 0.95, 0.10
TIMES, NOISE = 10, 0.01  # copies of a record, and the standard deviation of a pixel's noise, of a range of 1
PLANTED = (0, 1, 2, 3, 5, 7, 10, 20, 50)  # records; 50 are 5 % of the samples
DEPENDS = [
    "workbench/evaluation/copying.py",
    "workbench/evaluation/nearest.py",
    "workbench/evaluation/neighbours.py",
    "tests/support/leaks.py",
]


@dataclass(frozen=True)
class Points:
    """Points (N, D) with positions and distances (N, k) of their nearest records in the pool, themselves left out."""

    features: np.ndarray
    indices: np.ndarray
    distances: np.ndarray

    @classmethod
    def near(cls, features: np.ndarray, pool: np.ndarray, least: float) -> "Points":
        """In single precision; what is nearer than `least` is the point itself."""
        base, parts = torch.from_numpy(pool), []
        for queries in torch.from_numpy(features).split(1000):
            squared = (queries.square().sum(1, keepdim=True) + base.square().sum(1) - 2 * queries @ base.T).clamp_(min=0)
            parts.append(squared.masked_fill_(squared < least**2, float("inf")).topk(NEIGHBOURS, largest=False))
        index = torch.cat([part.indices for part in parts]).int().numpy()
        return cls(features, index, torch.cat([part.values for part in parts]).sqrt().numpy())

    def take(self, rows: np.ndarray) -> "Points":
        return Points(self.features[rows], self.indices[rows], self.distances[rows])

    def among(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and distances (N, 50) of the nearest of the records whose `position` in a set is not -1."""
        inside = position[self.indices] >= 0
        chosen = np.argsort(~inside, axis=1, kind="stable")[:, :RATIO_NEIGHBOURS]
        assert np.take_along_axis(inside, chosen, 1).all(), "too few neighbours were kept"
        return position[np.take_along_axis(self.indices, chosen, 1)], np.take_along_axis(self.distances, chosen, 1)

    def pairs(self, position: np.ndarray, distance: float) -> np.ndarray:
        """Pairs (n, 2) of a point and the position in a set of a record within `distance`."""
        rows, columns = np.nonzero(self.distances <= distance)
        positions = position[self.indices[rows, columns]]
        return np.stack([rows, positions], axis=1)[positions >= 0]


class Division:
    """The pool divided into training, comparison and null samples, with copies of training records; all by the seed."""

    def __init__(self, pool: np.ndarray, everything: Points, seed: int) -> None:
        draw = np.random.default_rng(seed)
        sets = np.split(draw.permutation(len(pool)), 3)
        self.train, self.comparison, self.null_places = (places(rows, len(pool)) for rows in sets)
        self.sides = [pool[rows] for rows in sets[:2]]
        planted = np.repeat(self.sides[0][: max(PLANTED)], TIMES, axis=0)
        self.null = everything.take(sets[2])
        self.copies = Points.near(planted + draw.normal(0, NOISE, planted.shape).astype(np.float32), pool, 0.0)
        self.natural = everything.take(sets[1]).among(self.train)[1]
        self.near = [[part.among(side) for side in (self.train, self.comparison)] for part in (self.null, self.copies)]

    def nearest_of(self, side: int, copies: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions and distances (N, 50) of null samples and, in the place of the last of them, copies."""
        null, planted = (part[side] for part in self.near)
        return tuple(np.concatenate([a[: SIZE - copies], b[:copies]]) for a, b in zip(null, planted, strict=True))  # type: ignore[return-value]

    def groups(self, copies: int, distance: float) -> np.ndarray:
        """The means of the groups of near-duplicates among the same samples."""
        kept = SIZE - copies
        null = np.where(self.null_places < kept, self.null_places, -1)
        own = self.null.take(np.arange(kept)).pairs(null, distance)
        planted = self.copies.take(np.arange(copies)).pairs(null, distance)
        planted[:, 0] += kept
        ring = np.arange(copies)  # copies of one record lie within its noise of each other
        same = np.stack([ring, ring // TIMES * TIMES], axis=1) + kept
        samples = np.concatenate([self.null.features[:kept], self.copies.features[:copies]])
        return group_means(samples, linked_groups(np.concatenate([own, planted, same]), SIZE), LEAST_COPIES)

    def alarms(self, copies: int) -> dict[str, bool]:
        """What each measure says of samples of which so many are copies."""
        (i, near), (j, other) = (self.nearest_of(side, copies) for side in range(2))
        distance, ratio = (float(np.quantile(values, NATURAL_SHARE)) for values in (self.natural[:, 0], ratios(self.natural)))
        interval = exchangeable_share(near[:, 0], other[:, 0], i[:, 0], j[:, 0], SIZE)[1]
        assert interval is not None
        means = self.groups(copies, distance)
        away = [nearest(means, side)[1][:, 0] if len(means) else np.zeros(0) for side in self.sides]
        leaks = {
            "near a record": Leak.below(near[:, 0], other[:, 0], distance),
            "ratio": Leak.below(ratios(near), ratios(other), ratio),
            "gallery order": order_leak(Neighbours("pixels", i, near, j[:, 0], other[:, 0]).suspicion),
            "extraction": leak_of(away[0], away[1], distance, SIZE),
        }
        return {"share": interval[0] > 0.5} | {name: leak.p < LEVEL for name, leak in leaks.items()}


def places(rows: np.ndarray, count: int) -> np.ndarray:
    """The position of every record of the pool in a set, -1 outside."""
    positions = np.full(count, -1)
    positions[rows] = np.arange(len(rows))
    return positions


@pytest.mark.slow(depends=DEPENDS)
def test_a_leak_planted_in_mnist_is_found(slow_home: Path, figures: dict[str, Any]) -> None:
    """`share` alarms where its 95 % interval lies above one half, the others by sign tests at 5 %."""
    start, mnist = time.process_time(), load("mnist")
    pool = mnist.facts.kind.features(mnist.train.records[: 3 * SIZE])
    everything = Points.near(pool, pool, NOISE)
    counts: dict[tuple[str, int], int] = {}
    for repetition in range(REPETITIONS):
        division = Division(pool, everything, repetition)
        for number in PLANTED:
            for name, raised in division.alarms(TIMES * number).items():
                counts[name, number] = counts.get((name, number), 0) + raised
    names = sorted({name for name, _ in counts})
    for name in names:
        detected = [number for number in PLANTED[1:] if counts[name, number] >= POWER * REPETITIONS]
        figures[name] = (
            f"alarms without a leak {counts[name, 0]} of {REPETITIONS}, at 5 % of copies {counts[name, 50]}; "
            f"smallest share found with power {POWER}: {min(detected) * TIMES / SIZE:.1%}"
        )
    figures["CPU minutes"] = round((time.process_time() - start) / 60, 1)
    assert min(counts[name, 50] for name in names) >= POWER * REPETITIONS
    assert max(counts[name, 0] for name in names) <= FALSE_ALARMS * REPETITIONS
