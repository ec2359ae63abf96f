"""Held-out records: a split that keeps the share of every class."""

import numpy as np

from workbench.errors import WorkbenchError

HELD_OUT_FRACTION = 1 / 6


def held_out_count(num_records: int, fraction: float = HELD_OUT_FRACTION) -> int:
    """How many of a class's records are held out: the rounded fraction, at least 1 and never all of them."""
    return min(max(1, round(num_records * fraction)), num_records - 1)


def check_splittable(counts: dict[str, int], where: str) -> None:
    """Refuse a class that cannot give a record to either side of the split."""
    for name, count in counts.items():
        if count < 2:
            raise WorkbenchError(
                f"Expected at least 2 records of every class in {where}, got {count} of class {name!r}; add records or drop the class."
            )


def stratified_split(labels: np.ndarray, seed: int, fraction: float = HELD_OUT_FRACTION) -> tuple[np.ndarray, np.ndarray]:
    """Sorted positions of the training and of the held-out records; every class of `labels` int64 (N,) gives `held_out_count`."""
    rng = np.random.default_rng(seed)
    held_out = []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        held_out.append(members[: held_out_count(len(members), fraction)])
    chosen = np.sort(np.concatenate(held_out))
    return np.setdiff1d(np.arange(len(labels)), chosen), chosen
