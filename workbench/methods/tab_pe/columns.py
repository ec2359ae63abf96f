"""Samples fitted to the noisy counts of columns within classes: as few cells as possible are changed.

A row that many records are the nearest to has what is common among them, so votes alone leave out what is rare, however little noise
there is. Each column's shares are known better from their own counts; what columns have to do with each other, the votes know.
"""

import numpy as np

from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.rows import columns_of, transitions
from workbench.models.graphical.drawing import in_strata
from workbench.records import Column
from workbench.training.marginals import shares, split
from workbench.training.state import State
from workbench.training.streams import Stream


def fitted(config: TabPEConfig, state: State, rows: np.ndarray, weights: np.ndarray, samples: np.ndarray, draw: Stream) -> np.ndarray:
    """The samples (N, columns and the label), which were drawn from `rows` by `weights` (classes, rows) and varied, with other cells."""
    columns, found = columns_of(state.facts), samples.copy()
    classes = samples[:, -1] if state.facts.num_classes else np.zeros(len(samples), dtype=np.int64)
    for number, (column, released) in enumerate(zip(columns, counts_of_columns(state), strict=True)):
        size, changes = len(column.categories), transitions(column, config.last_rate)
        own = np.stack([np.bincount(rows[:, number], weights=part, minlength=size) / part.sum() @ changes for part in weights])
        noise = config.noise_of_columns() * len(columns) ** 0.5
        towards = [believed(counts, before, noise) for counts, before in zip(released, own, strict=True)]
        moves = np.concatenate([changed(column, before, after) for before, after in zip(own, towards, strict=True)])
        found[:, number] = in_strata(moves, classes * size + samples[:, number], draw)
    return found


def counts_of_columns(state: State) -> list[np.ndarray]:
    """Of each column the noisy counts: (classes, categories)."""
    sizes = [len(column.categories) for column in columns_of(state.facts)]
    counted = state.tensors["of_columns"].cpu().numpy().reshape(max(1, state.facts.num_classes), -1)
    return [np.stack(parts) for parts in zip(*(split(of_class, sizes) for of_class in counted), strict=True)]


def believed(counts: np.ndarray, before: np.ndarray, noise: float) -> np.ndarray:
    """Shares between those `before` and those of noisy counts: these go as far as their distance is more than noise (James and Stein)."""
    total = max(float(counts.sum()), 1.0)
    off = counts - total * before
    part = 1.0 - (counts.size - 1) * noise**2 / max(float(np.square(off).sum()), np.finfo(np.float64).tiny)
    return shares(total * before + max(0.0, part) * off, total)


def changed(column: Column, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """With which chance each category becomes which, so that shares `before` become `after`: (categories, categories).

    A category that has too much gives what is too much to those that have too little. Ranges are one category beside the others; within
    them, numbers keep their order.
    """
    ranges = column.num_ranges
    if not ranges:
        return _moved(before, after)
    coarse = _moved(*(np.concatenate([[part[:ranges].sum()], part[ranges:]]) for part in (before, after)))
    found = np.empty((before.size, after.size))
    there = after[:ranges] / after[:ranges].sum() if after[:ranges].any() else np.full(ranges, 1 / ranges)
    found[:ranges, :ranges] = coarse[0, 0] * _in_order(before[:ranges], there)
    found[:ranges, ranges:] = coarse[0, 1:]
    found[ranges:, :ranges] = coarse[1:, :1] * there
    found[ranges:, ranges:] = coarse[1:, 1:]
    return found


def _moved(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """As many stay as can; who has to go is drawn by what is missing."""
    stay = np.divide(np.minimum(before, after), before, out=np.ones(before.size), where=before > 0)
    missing = np.maximum(after - before, 0.0)
    if missing.any():
        return np.diag(stay) + np.outer(1.0 - stay, missing / missing.sum())
    return np.eye(before.size)


def _in_order(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The chances by which numbers of shares `before` (of any scale) become `after`, the smaller ones still the smaller ones."""
    if not before.any():
        return np.tile(after, (before.size, 1))
    ends, new_ends = np.cumsum(before) / before.sum(), np.cumsum(after)
    common = np.minimum(ends[:, None], new_ends) - np.maximum((ends - before / before.sum())[:, None], new_ends - after)
    common = np.maximum(common, 0.0)
    total = common.sum(axis=1, keepdims=True)
    return np.where(total > 0, common / np.where(total > 0, total, 1.0), after)
