"""A table whose persons have one to six rows, and a randomness that gives the releases of an earlier run again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness

MOST_ROWS = 3
VISITS = TableDeclaration(
    columns=(
        DeclaredColumn(name="ward", categories=("a", "b", "c")),
        DeclaredColumn(name="stay", edges=(0, 2, 5, 30)),
        DeclaredColumn(name="ill", categories=("no", "yes")),
    ),
    target="ill",
    person="patient",
    rows_per_person=MOST_ROWS,
)


def visits(folder: Path, others: Mapping[int, str] | None = None, num_persons: int = 60) -> Path:
    """A CSV file: person i has 1 + i mod 6 rows, between those of others; `others` gives the cells of all rows of some persons."""
    draw = np.random.default_rng(0)
    rows: list[tuple[float, str]] = []
    for person in range(num_persons):
        for _ in range(1 + person % 6):
            ward, stay, ill = draw.choice(list("abc")), draw.integers(0, 30), draw.choice(["no", "yes"])
            cells = f"{ward},{stay},{ill}" if others is None or person not in others else others[person]
            rows.append((draw.random(), f"p{person:02},{cells}"))
    path = folder / f"visits{len(list(folder.iterdir()))}.csv"
    path.write_text("\n".join(["patient,ward,stay,ill", *(row for _, row in sorted(rows))]) + "\n")
    return path


class Taped(Randomness):
    """Keeps what every release and choice was made of, in deviations or log-weights; gives those of `tape` again where it has one."""

    def __init__(self, key: bytes, tape: "Taped | None" = None) -> None:
        super().__init__(key)
        self.sums: list[tuple[str, np.ndarray]] = []
        self.given: list[np.ndarray | int] = []
        self._tape = [] if tape is None else list(tape.given)

    def release(self, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        """The release of before, the new sum kept."""
        self.sums.append((purpose, total * (grid.spacing / grid.deviation)))
        return self._again(super().release(purpose, step, total, grid))

    def choose(self, purpose: str, step: int, scores: np.ndarray, rate: float, index: int = 0) -> int:
        """The choice of before, the new log-weights kept."""
        self.sums.append((purpose, rate * scores))
        return self._again(super().choose(purpose, step, scores, rate, index))

    def _again(self, value: Any) -> Any:
        again = self._tape.pop(0) if self._tape else value
        self.given.append(again)
        return again
