"""Planted controls: altered copies of training records, and records that nobody trained on, among the samples that a reviewer judges.

Whoever judges blinded does not know which cards are controls. How many of the copies were called copied, and how many of the others, says
what the verdicts on the samples are worth. Controls are private records: they stay in the room, and no measure counts them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from workbench.datasets.base import Dataset
from workbench.evaluation import Neighbours, feature_space, find_neighbours
from workbench.evaluation.features import FeatureSpace
from workbench.privacy.attacks.audit import Rate, clopper_pearson
from workbench.records import Records
from workbench.runs.samples.sets import SampleSet
from workbench.runs.verdicts import Verdict

CONTROLS = "00000000"  # verdicts on controls are kept as those on a set of this id, which no set of samples has
NUMBER = 10  # of each kind, where there are as many records
ALTERED = 12.0  # standard deviation of the noise on a copied image's intensities, of 255
SEED = 31


@dataclass(frozen=True)
class Controls:
    """Records that look like samples, with their neighbours as samples have them, and which of them are copies, bool (N,)."""

    records: Records
    neighbours: Neighbours
    copied: np.ndarray

    def __len__(self) -> int:
        return len(self.copied)


def among_samples(samples: SampleSet, features: str, k: int) -> Controls:
    """The controls of a set of samples in a feature space: the same for every reviewer."""
    dataset = samples.dataset()
    return planted_controls(dataset, feature_space(features, dataset, samples.public_dataset(), workspace=samples.workspace), k)


def planted_controls(dataset: Dataset, space: FeatureSpace, k: int, seed: int = SEED, number: int = NUMBER) -> Controls:
    """`number` altered copies and as many held-out records, which are not among their own neighbours."""
    generator = np.random.default_rng([seed, len(dataset.train), len(dataset.held_out)])
    number = min(number, len(dataset.train), len(dataset.held_out) // 2)
    trained = generator.choice(len(dataset.train), number, replace=False)
    fresh = generator.choice(len(dataset.held_out), number, replace=False)
    rest = np.setdiff1d(np.arange(len(dataset.held_out)), fresh)
    copies, others = altered_records(dataset, trained, generator), dataset.held_out.take(fresh)
    records = copies.followed_by(others)
    near = find_neighbours(records, replace(dataset, held_out=dataset.held_out.take(rest)), space, k)
    near = replace(near, held_out_indices=rest[near.held_out_indices])
    return Controls(records, near, np.arange(2 * number) < number)


def altered_records(dataset: Dataset, positions: np.ndarray, generator: np.random.Generator) -> Records:
    """Training records as a model that learnt them by heart draws them: images with a little noise, rows with one column drawn anew."""
    originals, kind = dataset.train.take(positions), dataset.facts.kind
    if kind.name == "image":
        noisy = originals.records + generator.normal(0, ALTERED, originals.records.shape)
        return replace(originals, records=np.rint(np.clip(noisy, 0, 255)).astype(np.uint8))
    rows, columns = originals.records.copy(), generator.integers(0, originals.records.shape[1], len(positions))
    rows[np.arange(len(rows)), columns] = kind.draw(len(rows), generator)[np.arange(len(rows)), columns]
    return replace(originals, records=rows)


def what_was_found(controls: Controls, given: Mapping[int, Verdict]) -> tuple[Rate, Rate] | None:
    """Of the copies and of the others, what share was called copied; None until all have a verdict: it would tell which are which."""
    if len(given) < len(controls):
        return None
    called = np.array([given[index].verdict == "copied" for index in range(len(controls))])
    copies, others = (called[controls.copied == kind] for kind in (True, False))
    return clopper_pearson(int(copies.sum()), len(copies)), clopper_pearson(int(others.sum()), len(others))
