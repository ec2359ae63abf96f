"""Exact nearest neighbours: a fast pass in single precision keeps whatever may be among them, and double precision decides.

The pass computes s = |b|^2 - 2 q.b of centred points. With unit roundoff u and g = m u / (1 - m u), m the number of dimensions plus five,
a dot product of rounded points is off by at most g |q||b| whatever the order of its sum (Higham 2002, section 3.1), so that the computed s
is off by at most e = 4 u |b|^2 + 2 g |q||b|. A point whose s - e is above the k-th smallest s + e is not among the k nearest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import WorkbenchError
from workbench.evaluation.device import current_device
from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

QUERIES, BASE = 1_024, 8_192
PAIR_VALUES = 2**22  # values that are compared at once where pairs are compared directly
SINGLE_RANGE = (1e-12, 1e18)  # lengths whose products single precision holds; others are passed over in double precision

Report = Callable[[float], None]  # takes the share that is done, and raises where the work is to stop


def ignore_progress(_share: float) -> None:
    """For who wants no report of progress."""


@without_gradients
def nearest(queries: np.ndarray, base: np.ndarray, k: int = 1, report: Report = ignore_progress) -> tuple[np.ndarray, np.ndarray]:
    """Indices (N, k) int64 and Euclidean distances (N, k) float64 of the k nearest rows of `base` (M, D) to `queries` (N, D).

    Distances are those of direct differences in float64, and ties go to the smaller index: what comparing all pairs gives. `report` is
    told the share that is done.
    """
    if not 1 <= k <= len(base):
        raise WorkbenchError(f"Expected k between 1 and the number of records, {len(base)}, got {k}.")
    centre = base.mean(axis=0, dtype=np.float64)
    lengths = _lengths(queries, centre), _lengths(base, centre)
    dtype = _precision(*lengths)
    points, kept = _Points.of(queries, centre, lengths[0], dtype), _without_spare_copies(base, k)
    best = _Best(np.full((len(queries), k), -1), np.full((len(queries), k), np.inf), np.full((len(queries), k), np.inf))
    for part in _blocks(len(kept), BASE):
        chosen = kept[part]
        chunk = _Points.of(base[chosen], centre, lengths[1][chosen], dtype)
        for rows in _blocks(len(queries), QUERIES):
            row, column = best.candidates(points.take(rows), chunk, rows)
            best.compare(queries, base, row + rows.start, chosen[column])
        report(part.stop / len(kept))
    return best.indices, best.distances


@dataclass(frozen=True)
class _Points:
    """Centred points, rounded, and their lengths in double precision."""

    values: Tensor  # (N, D)
    lengths: np.ndarray  # (N,)

    @classmethod
    def of(cls, points: np.ndarray, centre: np.ndarray, lengths: np.ndarray, dtype: torch.dtype) -> _Points:
        """Of points (N, D), rounded block by block."""
        values = torch.empty(points.shape, dtype=dtype, device=current_device())
        for rows in _blocks(len(points), QUERIES):
            values[rows] = torch.from_numpy(points[rows] - centre)
        return cls(values, lengths)

    def take(self, rows: slice) -> _Points:
        """Those at `rows`."""
        return _Points(self.values[rows], self.lengths[rows])


@dataclass
class _Best:
    """The k nearest points so far of each query, and the k smallest upper bounds of |b|^2 - 2 q.b; (N, k) each."""

    indices: np.ndarray
    distances: np.ndarray
    upper: np.ndarray

    def candidates(self, points: _Points, chunk: _Points, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Positions of pairs, among `points` and in `chunk`, that may be nearer than the k nearest so far."""
        sizes = torch.from_numpy(chunk.lengths**2).to(chunk.values)
        squared = torch.addmm(sizes, points.values, chunk.values.T, alpha=-2.0)
        error = _rounding(points, chunk)
        k = min(self.upper.shape[1], squared.shape[1])
        smallest = squared.amin(dim=1, keepdim=True) if k == 1 else squared.topk(k, dim=1, largest=False, sorted=True).values
        least = smallest.double().cpu().numpy()
        upper = np.sort(np.concatenate([self.upper[rows], least + error[:, None]], axis=1), axis=1)[:, : self.upper.shape[1]]
        self.upper[rows] = upper
        limit = upper[:, -1] + error
        some = np.flatnonzero(least[:, 0] <= limit)
        bound = torch.from_numpy(limit[some]).to(squared)
        bound = torch.nextafter(bound, torch.full_like(bound, torch.inf))  # it may have been rounded down
        near = (squared[torch.from_numpy(some).to(squared.device)] <= bound[:, None]).nonzero().cpu().numpy()
        return some[near[:, 0]], near[:, 1]

    def compare(self, queries: np.ndarray, base: np.ndarray, row: np.ndarray, column: np.ndarray) -> None:
        """Take over pairs, by direct difference."""
        if not len(row):
            return
        distances = np.concatenate([_distances(queries[row[i]], base[column[i]]) for i in _blocks(len(row), _pairs(base))])
        distinct_rows = np.unique(row)
        own = np.repeat(distinct_rows, self.indices.shape[1])
        every = (
            np.concatenate([row, own]),
            np.concatenate([distances, self.distances[distinct_rows].ravel()]),
            np.concatenate([column, self.indices[distinct_rows].ravel()]),
        )
        order = np.lexsort((every[2], every[1], every[0]))
        begins = np.searchsorted(every[0][order], distinct_rows)
        taken = order[begins[:, None] + np.arange(self.indices.shape[1])]
        self.distances[distinct_rows], self.indices[distinct_rows] = every[1][taken], every[2][taken]


def _rounding(points: _Points, chunk: _Points) -> np.ndarray:
    """By how much a computed |b|^2 - 2 q.b may be off for each of `points`, (N,): e of the module, and what direct differences round."""
    unit, dimensions = torch.finfo(chunk.values.dtype).eps / 2, chunk.values.shape[1]
    reach = float(chunk.lengths.max())
    gamma = (dimensions + 5) * unit / (1 - (dimensions + 5) * unit)
    direct = (dimensions + 8) * 2.0**-52 * (points.lengths + reach) ** 2
    underflow = (dimensions + 8) * float(torch.finfo(chunk.values.dtype).tiny)
    return 4 * unit * reach**2 + 2 * gamma * points.lengths * reach + direct + underflow


def _precision(query_lengths: np.ndarray, lengths: np.ndarray) -> torch.dtype:
    """Single precision where it is that: lengths within its range, and matrix products that are not rounded to fewer bits."""
    low, high = SINGLE_RANGE
    greatest = max(float(query_lengths.max(initial=0.0)), float(lengths.max()))
    held = low < greatest < high and torch.get_float32_matmul_precision() == "highest"
    return torch.float32 if held else torch.float64


def _without_spare_copies(base: np.ndarray, k: int) -> np.ndarray:
    """Positions of the rows of `base` less those with k equal rows before them, which no tie can bring in; int64."""
    seen: Counter[bytes] = Counter()
    kept: list[int] = []
    for position, row in enumerate(np.ascontiguousarray(base)):
        key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
        seen[key] += 1
        if seen[key] <= k:
            kept.append(position)
    return np.array(kept)


def _lengths(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """|p - centre| of points (N, D), float64 (N,)."""
    lengths = np.empty(len(points))
    for rows in _blocks(len(points), QUERIES):
        centred = points[rows] - centre
        lengths[rows] = np.sqrt(np.einsum("nd,nd->n", centred, centred))
    return lengths


def _distances(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
    difference = base.astype(np.float64) - queries.astype(np.float64)
    return np.sqrt(np.einsum("nd,nd->n", difference, difference))


def _pairs(base: np.ndarray) -> int:
    return max(1, PAIR_VALUES // max(1, base.shape[1]))


def _blocks(count: int, size: int) -> Iterator[slice]:
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
