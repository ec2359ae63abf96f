"""The records that look most like a given one, and what they have in common: why a record is exposed, or is not."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Neighbourhood:
    """The nearest other records of one: `indices` (k,), in how many columns each differs `distances` (k,), nearest first.

    Of every column: the value that most of them have, `common` (n,), the share of them that has it, `shares` (n,), and the
    share of all records that has the record's own value, `own_shares` (n,).
    """

    indices: np.ndarray
    distances: np.ndarray
    common: np.ndarray
    shares: np.ndarray
    own_shares: np.ndarray


def neighbourhood(table: np.ndarray, record: int, k: int = 10) -> Neighbourhood:
    """The `k` records of `table` int64 (N, n) that differ from `record` in the fewest columns, itself left out."""
    differs = (table != table[record]).sum(axis=1)
    order = np.argsort(differs, kind="stable")
    nearest = order[order != record][:k]
    counts = [np.bincount(column) for column in table[nearest].T]
    return Neighbourhood(
        indices=nearest,
        distances=differs[nearest],
        common=np.array([column.argmax() for column in counts]),
        shares=np.array([column.max() / len(nearest) for column in counts]),
        own_shares=(table == table[record]).mean(axis=0),
    )
