"""Exact inference in a log-linear model of columns: belief propagation on its junction tree, in logarithms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from workbench.models.graphical.junction_tree import Columns, JunctionTree, cells_of, junction_tree
from workbench.models.graphical.zeros import Zeros

IMPOSSIBLE = -1e30  # a logarithm of 0 that may be subtracted from itself


@dataclass(frozen=True)
class Structure:
    """Sets of columns that have a potential each, and the tree that holds them; every column is in some set.

    `zeros` are combinations of categories that have no probability, whatever the potentials are.
    """

    sizes: tuple[int, ...]
    sets: tuple[Columns, ...]
    root: int
    zeros: tuple[Zeros, ...] = ()

    @cached_property
    def tree(self) -> JunctionTree:
        """The tree, from a clique that has the column `root` on."""
        return junction_tree(self.sizes, self.clique_columns, self.root)

    @property
    def clique_columns(self) -> list[Columns]:
        """All sets of columns that some clique has to have."""
        return [*self.sets, *(zeros.columns for zeros in self.zeros)]

    @cached_property
    def holders(self) -> tuple[tuple[int, int], ...]:
        """(set, what holds it) from the smallest set on: the number of a larger set, or the number of sets and that of a clique."""
        tables = [*self.sets, *self.tree.cliques]
        order = sorted(range(len(tables)), key=lambda number: (len(tables[number]), cells_of(self.sizes, tables[number]), number))
        place = {number: rank for rank, number in enumerate(order)}
        places = []
        for number in (number for number in order if number < len(self.sets)):
            larger = [other for other in order[place[number] + 1 :] if set(self.sets[number]) <= set(tables[other])]
            places.append((number, min(larger, key=lambda other: cells_of(self.sizes, tables[other]))))
        return tuple(places)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """Of a table of some columns."""
        return tuple(self.sizes[column] for column in columns)

    @property
    def cells(self) -> list[int]:
        """Of each set."""
        return [cells_of(self.sizes, columns) for columns in self.sets]

    def split(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """One number a cell of each set, as a table a set."""
        return [part.reshape(self.shape(columns)) for part, columns in zip(flat.split(self.cells), self.sets, strict=True)]


def spread_table(table: torch.Tensor, columns: Columns, onto: Columns) -> torch.Tensor:
    """A table of some columns as one of more that are `onto`, of size 1 in those it does not have."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if column in columns else 1 for column in onto])


def summed_table(table: torch.Tensor, columns: Columns, onto: Columns) -> torch.Tensor:
    """A table's sums over all of its columns but those that are `onto`."""
    gone = [axis for axis, column in enumerate(columns) if column not in onto]
    return table.sum(gone) if gone else table


def log_summed(table: torch.Tensor, columns: Columns, onto: Columns) -> torch.Tensor:
    """As `summed`, of logarithms."""
    gone = [axis for axis, column in enumerate(columns) if column not in onto]
    return table.logsumexp(gone) if gone else table


@dataclass(frozen=True)
class Beliefs:
    """The distribution proportional to exp of the sum of all potentials: the probabilities of each clique, and those of each set."""

    structure: Structure
    cliques: tuple[torch.Tensor, ...]
    sets: tuple[torch.Tensor, ...]
    log_normaliser: float

    @classmethod
    def of(cls, structure: Structure, potentials: torch.Tensor) -> "Beliefs":
        """By potentials float64 (cells of all sets,), a number a cell of each set after another."""
        tree, number_of_sets = structure.tree, len(structure.sets)
        tables = [*structure.split(potentials), *(potentials.new_zeros(structure.shape(clique)) for clique in tree.cliques)]
        columns = [*structure.sets, *tree.cliques]
        for number, holder in structure.holders:
            tables[holder] = tables[holder] + spread_table(tables[number], columns[number], columns[holder])
        for zeros in structure.zeros:
            holder = tree.holding(zeros.columns)
            assert holder is not None
            are_zero = spread_table(zeros.mask(structure.sizes), zeros.columns, tree.cliques[holder])
            tables[number_of_sets + holder] = tables[number_of_sets + holder].masked_fill(are_zero, IMPOSSIBLE)
        logs, log_normaliser = propagated_logs(tree, tables[number_of_sets:])
        tables[number_of_sets:] = [log.exp() for log in logs]
        for number, holder in reversed(structure.holders):
            tables[number] = summed_table(tables[holder], columns[holder], columns[number])
        return cls(structure, tuple(tables[number_of_sets:]), tuple(tables[:number_of_sets]), log_normaliser)

    def marginal(self, columns: Columns) -> torch.Tensor:
        """The probabilities of some columns together, whether a clique has them or not."""
        tree = self.structure.tree
        holder = tree.holding(columns)
        if holder is not None:
            return summed_table(self.cliques[holder], tree.cliques[holder], columns)
        return self._joined_table(self._meeting_clique(columns), columns, None)

    @cached_property
    def _children(self) -> list[list[int]]:
        parents = self.structure.tree.parents
        return [[child for child, parent in enumerate(parents) if parent == number] for number in range(len(parents))]

    @cached_property
    def _below(self) -> list[set[int]]:
        """The columns of each clique and of all that hang on it."""
        columns = [set(clique) for clique in self.structure.tree.cliques]
        for number in reversed(range(1, len(columns))):
            columns[self.structure.tree.parents[number]] |= columns[number]
        return columns

    def _meeting_clique(self, columns: Columns) -> int:
        """The lowest clique under which all of some columns are."""
        return max(number for number, below in enumerate(self._below) if set(columns) <= below and self._depth_holds(number, columns))

    def _depth_holds(self, number: int, columns: Columns) -> bool:
        return not any(set(columns) <= self._below[child] for child in self._children[number])

    def _joined_table(self, number: int, wanted: Sequence[int], given: Columns | None) -> torch.Tensor:
        """Of a clique and what hangs on it: the wanted columns there, given the separator; the axes rise. Without `given` the joint one."""
        tree = self.structure.tree
        clique, kept = tree.cliques[number], set(given or ())
        here = {column for column in wanted if column in self._below[number]}
        below = [child for child in self._children[number] if here & (self._below[child] - set(tree.separators[child]))]
        needed = tuple(c for c in clique if c in kept | here or any(c in tree.separators[child] for child in below))
        operands: list[torch.Tensor | list[int]] = [summed_table(self.cliques[number], clique, needed), list(needed)]
        for child in below:
            inside = here & (self._below[child] - set(tree.separators[child]))
            axes = sorted(inside | set(tree.separators[child]))
            operands += [self._joined_table(child, sorted(inside), tree.separators[child]), axes]
        axes = sorted(here | kept)
        joint = einsum(operands, axes)
        if not given:
            return joint
        total = spread_table(summed_table(self.cliques[number], clique, given), given, tuple(axes))
        return torch.where(total > 0, joint / total.clamp_min(1e-300), 0.0)


def einsum(operands: Sequence[torch.Tensor | list[int]], axes: list[int]) -> torch.Tensor:
    """torch.einsum in its form of sublists, whose axes may be any numbers."""
    numbers = {axis: place for place, axis in enumerate(sorted({axis for part in operands[1::2] for axis in part}))}
    listed = [[numbers[int(axis)] for axis in part] if isinstance(part, list) else part for part in operands]
    return torch.einsum(*listed, [numbers[axis] for axis in axes])


def propagated_logs(tree: JunctionTree, logs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], float]:
    """The log-probabilities of each clique from its log-potentials, and the logarithm of the normaliser: up the tree, and down again."""
    beliefs, messages = list(logs), list(logs)
    for number in reversed(range(1, len(beliefs))):
        clique, parent, shared = tree.cliques[number], tree.parents[number], tree.separators[number]
        messages[number] = log_summed(beliefs[number], clique, shared)
        beliefs[parent] = beliefs[parent] + spread_table(messages[number], shared, tree.cliques[parent])
    log_normaliser = beliefs[0].logsumexp(list(range(beliefs[0].dim())))
    beliefs[0] = beliefs[0] - log_normaliser
    for number in range(1, len(beliefs)):
        clique, parent, shared = tree.cliques[number], tree.parents[number], tree.separators[number]
        down = log_summed(beliefs[parent], tree.cliques[parent], shared) - messages[number]
        beliefs[number] = beliefs[number] + spread_table(down, shared, clique)
    return beliefs, float(log_normaliser)
