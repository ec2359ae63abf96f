"""Rows drawn from a log-linear model, clique by clique along its tree."""

import numpy as np

from workbench.models.graphical.beliefs import Beliefs
from workbench.training.streams import Stream


def drawn_rows(beliefs: Beliefs, count: int, draw: Stream, root_values: np.ndarray | None = None) -> np.ndarray:
    """int64 (count, columns); with `root_values` (count,) the structure's root column is these, and the others are given it.

    Rows that agree in what is given are drawn in strata: of n of them a combination of share p gets n p, but for less than two. Each
    row by itself has the model's distribution.
    """
    structure, tree = beliefs.structure, beliefs.structure.tree
    rows = np.zeros((count, len(structure.sizes)), dtype=np.int64)
    if root_values is not None:
        rows[:, structure.root] = root_values
    for number, (clique, separator) in enumerate(zip(tree.cliques, tree.separators, strict=True)):
        given = separator if number else (structure.root,) * (root_values is not None)
        new = tuple(column for column in clique if column not in given)
        table = beliefs.cliques[number].cpu().numpy().transpose([clique.index(column) for column in (*given, *new)])
        shares = table.reshape(int(np.prod(structure.shape(given), dtype=np.int64)), -1)
        places = np.zeros(count, dtype=np.int64)
        for column in given:
            places = places * structure.sizes[column] + rows[:, column]
        cells = in_strata(shares, places, draw)
        for column, values in zip(new, np.unravel_index(cells, structure.shape(new)), strict=True):
            rows[:, column] = values
    return rows


def in_strata(shares: np.ndarray, places: np.ndarray, draw: Stream) -> np.ndarray:
    """For each of `places` (N,), a row of `shares` (rows, cells) of any scale, one of its cells, int64 (N,), drawn in strata."""
    order = np.lexsort((draw.random(len(places)), places))
    numbers, first, counts = np.unique(places[order], return_index=True, return_counts=True)
    within = np.arange(len(places)) - np.repeat(first, counts)
    uniform = (within + draw.random(len(places))) / np.repeat(counts, counts)
    ends = np.cumsum(shares[numbers] + np.finfo(np.float64).tiny, axis=1)
    ends /= ends[:, -1:]
    group = np.repeat(np.arange(len(numbers)), counts)
    flat = np.searchsorted((ends + np.arange(len(numbers))[:, None]).ravel(), group + uniform, side="right")
    cells = np.empty(len(places), dtype=np.int64)
    cells[order] = np.minimum(flat - group * shares.shape[1], shares.shape[1] - 1)
    return cells
