"""What may tell that samples copy training records, beside what the workbench shows: measured by the same sign test."""

from collections.abc import Sequence

import numpy as np

from workbench.evaluation.copying import LEAST_COPIES, Leak, duplicate_groups
from workbench.evaluation.nearest import nearest

FIRST_IN_ORDER = 100


def order_leak(suspicion: np.ndarray, first: int = FIRST_IN_ORDER) -> Leak:
    """Of the `first` samples whose suspicion (N,) is farthest from one half: those that point to training, and those to held-out records.

    Of as many training as held-out records; with more of one, the suspicion leans to it without any copying.
    """
    farthest = np.argsort(-np.abs(suspicion - 0.5), kind="stable")[:first]
    return Leak.of(int((suspicion[farthest] > 0.5).sum()), int((suspicion[farthest] < 0.5).sum()), len(suspicion))


def extraction_leak(samples: np.ndarray, records: np.ndarray, held_out: np.ndarray, distance: float, least: int = LEAST_COPIES) -> Leak:
    """Groups of at least `least` near-duplicates whose mean is within `distance` of a record, by the side of the nearest one.

    One group near a training record proves little where records are dense: of MNIST's ones some lie so near to held-out records too.
    Of as many training as held-out records.
    """
    means = group_means(samples, duplicate_groups(samples, distance), least)
    if not len(means):
        return Leak.of(0, 0, len(samples))
    to_training, to_held_out = (nearest(means, side)[1][:, 0] for side in (records, held_out))
    return leak_of(to_training, to_held_out, distance, len(samples))


def group_means(samples: np.ndarray, groups: Sequence[np.ndarray], least: int = LEAST_COPIES) -> np.ndarray:
    """The means (G, D) of the groups that have at least `least` members."""
    return np.array([samples[group].mean(axis=0) for group in groups if len(group) >= least]).reshape(-1, samples.shape[1])


def leak_of(to_training: np.ndarray, to_held_out: np.ndarray, distance: float, num_samples: int) -> Leak:
    """Each group within `distance` of a record on the side that it is nearer to, from distances (G,)."""
    near = np.minimum(to_training, to_held_out) <= distance
    return Leak.of(int((near & (to_training < to_held_out)).sum()), int((near & (to_held_out < to_training)).sum()), num_samples)
