"""A dataset in disjoint parts that no record moves: which part a record is in follows from its position and the number of records.

Both are public, so that replacing a record, or making it null, changes one part and leaves the others as they are. Adding or removing
one would move all that follow: nothing here holds under that relation. The map is kept in the state, so that a resumed run has the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from workbench.training.state import State

PARTS = "parts"  # the state's tensor, int64 (N,): the part of every position


@dataclass(frozen=True)
class Parts:
    """`number` parts; `of_record` int64 (N,) is the part 0..number-1 of every position. A null record keeps its place."""

    number: int
    of_record: np.ndarray

    @classmethod
    def by_position(cls, num_records: int, number: int) -> Self:
        """Position i is in part i mod `number`: sizes differ by one at most. Refuses more parts than records."""
        check_parts(num_records, number)
        return cls(number, np.arange(num_records, dtype=np.int64) % number)

    @classmethod
    def begun(cls, state: State, number: int) -> Self:
        """The parts of the state's records, kept in it from now on; for `initial_state`."""
        parts = cls.by_position(state.facts.num_records, number)
        state.tensors[PARTS] = torch.from_numpy(parts.of_record).to(state.device)
        return parts

    @classmethod
    def of(cls, state: State, number: int, num_records: int) -> Self:
        """The parts that the state keeps; refuses another number of records than they were made for."""
        kept = state.tensors[PARTS].cpu().numpy()
        if len(kept) != num_records:
            raise WorkbenchError(f"Expected the {len(kept)} records that the parts were made of, got {num_records}.")
        return cls(number, kept)

    def positions(self, part: int) -> np.ndarray:
        """The positions int64 of a part, ascending."""
        return np.flatnonzero(self.of_record == part)


def check_parts(num_records: int, number: int) -> None:
    """Refuse more parts than there are records, or none."""
    if not 1 <= number <= num_records:
        raise WorkbenchError(f"Expected 1 to {num_records} parts of {num_records} records, got {number}.")
