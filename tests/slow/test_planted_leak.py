"""A leak planted among MNIST's records is found by every measure of copying, and none is found where there is none.

Each repetition divides 30 000 records anew into training, comparison and null samples; distances between them are computed once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.datasets import load
from workbench.evaluation.copying import (
    LEAST_COPIES,
    NATURAL_SHARE,
    RATIO_NEIGHBOURS,
    Leak,
    group_means,
    linked,
    order_leak,
    ratios,
    sided,
)
from workbench.evaluation.neighbours import Neighbours, exchangeable_share, nearest

SIZE, NEIGHBOURS = 10_000, 260  # of each set; of every record, so that fifty of a random third are among them
REPETITIONS, LEVEL, POWER, FALSE_ALARMS = 50, 0.05, 0.95, 0.10
TIMES, NOISE = 10, 0.01  # copies of a record, and the standard deviation of a pixel's noise, of a range of 1
PLANTED = (0, 1, 2, 3, 5, 7, 10, 20, 50)  # records; 50 are 5 % of the samples
DEPENDS = ["workbench/evaluation/copying.py", "workbench/evaluation/neighbours.py", "workbench/evaluation/intervals.py"]


@dataclass(frozen=True)
class Points:
    """Points (N, D) with positions and distances (N, k) of their nearest records in the pool, themselves left out."""

    features: np.ndarray
    indices: np.ndarray
    distances: np.ndarray

    def take(self, rows: np.ndarray) -> "Points":
        return Points(self.features[rows], self.indices[rows], self.distances[rows])

    def joined(self, other: "Points") -> "Points":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Points(*(np.concatenate(pair) for pair in pairs))

    def among(self, position: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions and distances (N, k) of the nearest k of the records whose `position` in a set is not -1."""
        inside = position[self.indices] >= 0
        chosen = np.argsort(~inside, axis=1, kind="stable")[:, :k]
        assert np.take_along_axis(inside, chosen, 1).all(), "too few neighbours were kept"
        return position[np.take_along_axis(self.indices, chosen, 1)], np.take_along_axis(self.distances, chosen, 1)

    def groups(self, position: np.ndarray, distance: float) -> list[np.ndarray]:
        """Groups of near-duplicates: records of the pool by their distances to it, other points by direct ones."""
        rows, columns = np.nonzero((self.distances <= distance) & (position[self.indices] >= 0))
        known = np.stack([rows, position[self.indices[rows, columns]]], axis=1)
        copies = np.arange((position >= 0).sum(), len(self.features))
        if not len(copies):
            return linked(known, len(self.features))
        index, away = nearest(self.features[copies], self.features[copies], min(len(copies), 2 * TIMES))
        rows, columns = np.nonzero(away <= distance)
        return linked(np.concatenate([known, np.stack([copies[rows], copies[index[rows, columns]]], axis=1)]), len(self.features))


def neighbours_in(features: np.ndarray, pool: np.ndarray, itself: bool) -> Points:
    index, distance = nearest(features, pool, NEIGHBOURS + itself)
    return Points(features, index[:, int(itself) :].astype(np.int32), distance[:, int(itself) :])


def places(rows: np.ndarray, count: int) -> np.ndarray:
    """The position of every record of the pool in a set, -1 outside."""
    found = np.full(count, -1)
    found[rows] = np.arange(len(rows))
    return found


def alarms(samples: Points, held_out: Points, pool: np.ndarray, sets: list[np.ndarray], nulls: int) -> dict[str, bool]:
    """What each measure says of the samples, the first `nulls` of which are the records of the third set."""
    train, comparison, null = (places(rows, len(pool)) for rows in (*sets[:2], sets[2][:nulls]))
    (i, near), (j, other) = (samples.among(side, RATIO_NEIGHBOURS) for side in (train, comparison))
    natural = held_out.among(train, RATIO_NEIGHBOURS)[1]
    distance, ratio = (float(np.quantile(values, NATURAL_SHARE)) for values in (natural[:, 0], ratios(natural)))
    interval = exchangeable_share(near[:, 0], other[:, 0], i[:, 0], j[:, 0], SIZE)[1]
    assert interval is not None
    means = group_means(samples.features, samples.groups(null, distance), LEAST_COPIES)
    sides = [nearest(means, pool[rows])[1][:, 0] if len(means) else np.zeros(0) for rows in sets[:2]]
    found = {
        "near a record": Leak.below(near[:, 0], other[:, 0], distance),
        "ratio": Leak.below(ratios(near), ratios(other), ratio),
        "gallery order": order_leak(Neighbours("pixels", i, near, j[:, 0], other[:, 0]).suspicion),
        "extraction": sided(*sides, distance, len(samples.features)),
    }
    return {"share": interval[0] > 0.5} | {name: leak.p < LEVEL for name, leak in found.items()}


@pytest.mark.slow(depends=DEPENDS)
def test_a_leak_planted_in_mnist_is_found(slow_home: Path, figures: dict[str, Any]) -> None:
    """`share` alarms where its 95 % interval lies above one half, the others by sign tests at 5 %."""
    mnist = load("mnist")
    pool = mnist.facts.kind.features(mnist.train.records[: 3 * SIZE])
    everything = neighbours_in(pool, pool, itself=True)
    counts: dict[tuple[str, int], int] = {}
    for repetition in range(REPETITIONS):
        draw = np.random.default_rng(repetition)
        sets = np.split(draw.permutation(3 * SIZE), 3)
        planted = np.repeat(pool[sets[0][: max(PLANTED)]], TIMES, axis=0)
        copies = neighbours_in(planted + draw.normal(0, NOISE, planted.shape).astype(np.float32), pool, itself=False)
        for number in PLANTED:
            kept = SIZE - TIMES * number
            samples = everything.take(sets[2][:kept]).joined(copies.take(np.arange(TIMES * number)))
            for name, raised in alarms(samples, everything.take(sets[1]), pool, sets, kept).items():
                counts[name, number] = counts.get((name, number), 0) + raised
    names = sorted({name for name, _ in counts})
    for name in names:
        found = [number for number in PLANTED[1:] if counts[name, number] >= POWER * REPETITIONS]
        figures[name] = (
            f"alarms without a leak {counts[name, 0]} of {REPETITIONS}, at 5 % of copies {counts[name, 50]}; "
            f"smallest share found with power {POWER}: {min(found) * TIMES / SIZE:.1%}"
        )
    assert min(counts[name, 50] for name in names) >= POWER * REPETITIONS
    assert max(counts[name, 0] for name in names) <= FALSE_ALARMS * REPETITIONS
