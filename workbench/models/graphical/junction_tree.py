"""Junction trees: the cliques of columns in which a distribution with given interactions can be computed exactly. No torch.

Source: Koller and Friedman 2009, chapters 9 and 10; the orders of elimination are the two greedy ones of section 9.4.3.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

Columns = tuple[int, ...]  # rising
Neighbours = dict[int, set[int]]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns, each but the first hanging on an earlier one, `parents` (-1 of the first).

    Every set of columns it was made for lies in a clique, and the cliques that have a column are connected through it.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @property
    def cells(self) -> int:
        """Of all cliques together."""
        return sum(cells_of(self.sizes, clique) for clique in self.cliques)

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """The columns that each clique shares with its parent; none for the first."""
        shared = [set(self.cliques[parent]) if parent >= 0 else set[int]() for parent in self.parents]
        return tuple(tuple(column for column in clique if column in other) for clique, other in zip(self.cliques, shared, strict=True))

    def holding(self, columns: Iterable[int]) -> int | None:
        """The smallest clique that has all of these columns, by number; None if none has."""
        wanted = set(columns)
        holders = [number for number, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holders, key=lambda number: cells_of(self.sizes, self.cliques[number]), default=None)


def cells_of(sizes: Sequence[int], columns: Iterable[int]) -> int:
    """How many combinations of categories some columns have."""
    return math.prod(sizes[column] for column in columns)


def junction_tree(sizes: Sequence[int], sets: Iterable[Columns], root: int = 0) -> JunctionTree:
    """A small tree whose cliques have every one of `sets`; its first clique has the column `root`.

    A spanning tree of the cliques whose separators are as large as can be is a junction tree.
    """
    left = smallest_cliques(sizes, sets)
    ordered = [min((clique for clique in left if root in clique), key=lambda clique: cells_of(sizes, clique))]
    left.remove(ordered[0])
    parents = [-1]
    while left:
        ties = [(clique, parent) for clique in left for parent in range(len(ordered))]
        clique, parent = max(ties, key=lambda tie: len(set(tie[0]) & set(ordered[tie[1]])))  # of equals the first
        parents.append(parent)
        ordered.append(clique)
        left.remove(clique)
    return JunctionTree(tuple(sizes), tuple(ordered), tuple(parents))


def smallest_cliques(sizes: Sequence[int], sets: Iterable[Columns]) -> list[Columns]:
    """The cliques of the better of two triangulations: by fewest new edges, or by the fewest cells of the next clique."""

    def fewest_edges(near: Neighbours, column: int) -> float:
        return sum(two not in near[one] for one, two in combinations(near[column], 2))

    def fewest_cells(near: Neighbours, column: int) -> float:
        return cells_of(sizes, {column, *near[column]})

    wanted = list(sets)
    attempts = [elimination_cliques(sizes, wanted, cost) for cost in (fewest_edges, fewest_cells)]
    return min(attempts, key=lambda cliques: sum(cells_of(sizes, clique) for clique in cliques))


def elimination_cliques(sizes: Sequence[int], sets: Sequence[Columns], cost: Callable[[Neighbours, int], float]) -> list[Columns]:
    """The largest cliques that arise where columns are eliminated one by one, the cheapest first."""
    near: Neighbours = {column: set() for column in range(len(sizes))}
    for columns in sets:
        for column in columns:
            near[column] |= set(columns) - {column}
    cliques: list[set[int]] = []
    while near:
        column = min(near, key=lambda one: (cost(near, one), cells_of(sizes, near[one]), one))
        beside = near.pop(column)
        if not any(beside | {column} <= clique for clique in cliques):
            cliques.append(beside | {column})
        for other in beside:
            near[other] = (near[other] | beside) - {other, column}
    return [tuple(sorted(clique)) for clique in cliques]
