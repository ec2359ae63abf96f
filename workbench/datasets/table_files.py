"""Rows of a table as files that other tools read, CSV and Parquet with types, written a part at a time."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.datasets.declaration import number
from workbench.datasets.row_files import CSV, PARQUET
from workbench.errors import WorkbenchError
from workbench.files import written_atomically
from workbench.records import Records, TableKind
from workbench.records.tables import Column
from workbench.serialization import dumps

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SUFFIXES = (CSV, PARQUET)
AT_ONCE = 50_000  # rows
NUMBERS_SEED = 0  # of what is drawn within ranges, so that the same rows are written alike
NOTES = "workbench"  # under which a Parquet file's schema has its notes
Progress = Callable[[float], None]


def unheard(_share: float) -> None:
    """What hears of no progress."""


@dataclass(frozen=True)
class TableFile:
    """Rows of the schema of `facts` under the names of columns, categories and classes, and what explains them.

    `numbers`: a number in the place of each range, drawn within it as the shares of all rows' ranges have it; else the ranges.
    """

    records: Records
    facts: DatasetFacts
    notes: dict[str, Any]
    numbers: bool = True

    def write(self, path: Path, progress: Progress = unheard) -> None:
        """To a file that ends in one of SUFFIXES; a reader sees the old file or the new one. `progress` hears the share that is written."""
        with written_atomically(path, "wb") as file:
            self.write_to(file, path.suffix, progress)

    def content(self, suffix: str) -> bytes:
        """What such a file has in it."""
        file = io.BytesIO()
        self.write_to(file, suffix)
        return file.getvalue()

    def write_to(self, file: IO[bytes], suffix: str, progress: Progress = unheard) -> None:
        """A CSV, inert in a spreadsheet; or Parquet with a type for each column, and the notes as JSON in its schema."""
        if suffix not in SUFFIXES:
            raise WorkbenchError(f"Expected a file of rows that ends in {' or '.join(SUFFIXES)}, got {suffix!r}.")
        if suffix == PARQUET:
            self._write_parquet(file, progress)
            return
        done = 0
        for part, frame in self.parts():
            file.write(frame.to_csv(index=False, header=not done).encode())
            done += len(part)
            progress(done / max(len(self.records), 1))

    def parts(self) -> "Iterator[tuple[Records, pd.DataFrame]]":
        """So many rows at once, by their numbers and as text; one part where there are none."""
        kind, generator = TableKind.of(self.facts.kind), np.random.default_rng(NUMBERS_SEED)
        densities = kind.densities(self.records) if self.numbers else None
        for start in range(0, max(len(self.records), 1), AT_ONCE):
            part = self.records.take(slice(start, start + AT_ONCE))
            frame = kind.frame(part, self.facts.classes)
            yield part, frame if densities is None else kind.with_numbers(frame, part, densities, generator)

    def _write_parquet(self, file: IO[bytes], progress: Progress) -> None:
        import pyarrow.parquet as pq

        tables, done = (self._arrow(part, frame) for part, frame in self.parts()), 0
        first = next(tables)
        with pq.ParquetWriter(file, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
                done += table.num_rows
                progress(done / max(len(self.records), 1))

    def _arrow(self, part: Records, frame: "pd.DataFrame") -> "pa.Table":
        """Rows with types: numbers where ranges became some, and nothing for what is no number; else categories."""
        import pyarrow as pa

        listed = TableKind.of(self.facts.kind).written_columns(part, self.facts.classes)
        arrays = [
            numbers_of(frame.iloc[:, place].tolist(), column) if self.numbers and column.edges else categories_of(column, values)
            for place, (column, values) in enumerate(listed)
        ]
        return pa.table(arrays, names=[column.name for column, _ in listed], metadata={NOTES: dumps(self.notes)})


def is_whole(column: Column) -> bool:
    """Whether all numbers that are written of a column with ranges are whole: in its ranges, and of the categories beside them."""
    points = [value for text in column.categories[column.num_ranges :] if (value := number(text)) is not None]
    return column.digits == 0 and all(value.is_integer() for value in points)


def numbers_of(cells: Sequence[str], column: Column) -> "pa.Array[Any]":
    """Texts as int64 where all that stands in the column is whole, else float64; null for what is no number."""
    import pyarrow as pa

    values = [number(text) for text in cells]
    if is_whole(column):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.float64())


def categories_of(column: Column, values: np.ndarray) -> "pa.Array[Any]":
    """Category numbers int64 (N,) as a dictionary of their names, in the declared order."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(values, pa.int32()), pa.array(column.categories, pa.string()))
