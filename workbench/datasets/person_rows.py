"""Rows of persons who may have several: at most k of each take part, drawn by chance, and no person is on both sides of a split.

Which of a person's rows are drawn depends on their places in the file and on chance alone, never on what is in them or in others'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from workbench.errors import WorkbenchError
from workbench.records import Records

PURPOSE = "rows of persons"


class Places(Protocol):
    """A stream that draws places."""

    def choice(self, total: int, size: int) -> np.ndarray:
        """`size` different integers of 0, .., total - 1."""
        ...


class Draws(Protocol):
    """A run's randomness."""

    def stream(self, purpose: str, step: int = 0, index: int = 0) -> Places:
        """The stream of a purpose."""
        ...


@dataclass(frozen=True)
class PersonRows:
    """All rows of some persons; `persons` int64 (N,) numbers the person of each from 0, of whom `most_rows` rows take part at most."""

    rows: Records
    persons: np.ndarray
    most_rows: int

    def drawn(self, randomness: Draws) -> Records:
        """`most_rows` rows of each person by a stream of the person's own, all of those who have no more; in the file's order."""

        def chosen(person: int, size: int) -> np.ndarray:
            return randomness.stream(PURPOSE, index=person).choice(size, self.most_rows)

        return self._rows_of(chosen)

    def drawn_by(self, seed: int) -> Records:
        """The same by a public seed: for measures, which need some draw that is the same every time."""

        def chosen(person: int, size: int) -> np.ndarray:
            return np.random.default_rng([seed, person]).permutation(size)[: self.most_rows]

        return self._rows_of(chosen)

    def take(self, persons: np.ndarray) -> "PersonRows":
        """Those of some persons alone, under their numbers."""
        places = np.flatnonzero(np.isin(self.persons, persons))
        return PersonRows(self.rows.take(places), self.persons[places], self.most_rows)

    def _rows_of(self, chosen: "RowChoice") -> Records:
        order = np.argsort(self.persons, kind="stable")
        numbers, starts = np.unique(self.persons[order], return_index=True)
        kept = [
            places if len(places) <= self.most_rows else places[chosen(int(number), len(places))]
            for number, places in zip(numbers, np.split(order, starts[1:]), strict=True)
        ]
        return self.rows.take(np.sort(np.concatenate(kept)))


class RowChoice(Protocol):
    """Which of a person's rows are drawn."""

    def __call__(self, person: int, size: int) -> np.ndarray:
        """Places among `size` rows of the person of that number."""
        ...


def numbered_persons(cells: Sequence[str], column: str, where: str) -> np.ndarray:
    """The person of each row by number, int64 (N,), in the order of the persons' first rows; an empty cell names nobody and is refused."""
    names = [cell.strip() for cell in cells]
    if "" in names:
        raise WorkbenchError(
            f"Expected a person in every row of the column {column!r} of {where}, got none in line {names.index('') + 2}. Fill it in: "
            "whose rows nobody names are protected by no bound for a person."
        )
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def kept_count(persons: np.ndarray, most_rows: int) -> int:
    """How many rows take part: the smaller of `most_rows` and each person's."""
    return int(np.minimum(np.unique(persons, return_counts=True)[1], most_rows).sum())
