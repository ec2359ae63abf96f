"""Which runs are on one account, and whether records under another name are much the same."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from workbench.privacy.spending.totals import LedgerEntry
from workbench.privacy.spending.whose import records_of

MOST_HASHES = 65_536  # kept of a dataset: the smallest ones, a sample that does not depend on the records' order
SAME_SHARE = 0.1


def on_account(entries: Sequence[LedgerEntry], keys: Iterable[str]) -> tuple[list[LedgerEntry], set[str]]:
    """The runs under the names or on the fingerprints `keys`, and their names and fingerprints.

    Whatever shares a name or a fingerprint with these belongs to them: exactly equal records stay on one account under any name.
    """
    known = {records_of(key) for key in keys}
    while True:
        mine = [entry for entry in entries if known & {entry.account, entry.fingerprint}]
        wider = known | {key for entry in mine for key in (entry.account, entry.fingerprint)}
        if wider == known:
            return mine, known
        known = wider


def kept_hashes(hashes: np.ndarray) -> np.ndarray:
    """The part of distinct sorted record hashes uint64 (N,) that the ledger keeps."""
    return hashes[:MOST_HASHES]


def shared_fraction(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the smaller dataset's records that are in the other, from what `kept_hashes` kept of both; an estimate if it kept a part.

    Only hashes below the smaller of both thresholds are compared: there both are complete.
    """
    limit = min((int(hashes[-1]) for hashes in (first, second) if len(hashes) == MOST_HASHES), default=2**64 - 1)
    first, second = first[first <= limit], second[second <= limit]
    smaller = min(len(first), len(second))
    return len(np.intersect1d(first, second, assume_unique=True)) / smaller if smaller else 0.0


def resembling_datasets(hashes: np.ndarray, others: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Of `others` (hashes by name), those that share at least a tenth of the smaller one's records with `hashes`, and how much."""
    shares = {name: shared_fraction(kept_hashes(hashes), other) for name, other in others.items()}
    return {name: share for name, share in shares.items() if share >= SAME_SHARE}
