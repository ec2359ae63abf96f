"""Rows of text in a file, a CSV or Parquet one, read a part at a time: what is wrong with it is said in a sentence."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.datasets.declaration import number
from workbench.datasets.naming import check_words
from workbench.errors import WorkbenchError
from workbench.escaping import seen

if TYPE_CHECKING:
    import pyarrow as pa

CSV, PARQUET = ".csv", ".parquet"
OTHER_SEPARATORS = (";", "\t", "|")
FORMULAS = ("=", "@", "\uff1d", "\uff20")  # what no value begins with, and what a spreadsheet would carry out
AT_ONCE = 50_000  # rows
Header = tuple[str, ...]
Row = Sequence[str]


def text_rows(path: Path) -> tuple[Header, Iterator[Row]]:
    """Headings of a file and its rows, one after another; refuses what is no table with a line of headings."""
    rows = _parquet_rows(path) if path.suffix == PARQUET else _csv_rows(path)
    return tuple(next(rows)), rows


def parts_of(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """So many rows at once as are kept in memory as text."""
    left = iter(rows)
    while part := list(islice(left, AT_ONCE)):
        yield part


def counted(path: Path) -> tuple[Header, dict[str, Counter[str]], int]:
    """Headings, how often each text stands in each column, blanks around it left out, and the number of rows."""
    header, rows = text_rows(path)
    found, total = {name: Counter[str]() for name in header}, 0
    for part in parts_of(rows):
        for name, cells in zip(header, zip(*part, strict=True), strict=True):
            found[name].update(map(str.strip, cells))
        total += len(part)
    return header, found, total


def texts_of(table: "pa.Table | pa.RecordBatch") -> Iterator[Row]:
    """The rows of an Arrow table as text, nothing where a value is missing."""
    yield from zip(*(list(map(_text, column.to_pylist())) for column in table.columns), strict=True)


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # NaN alone differs from itself


def _csv_rows(path: Path) -> Iterator[Row]:
    """The headings, and every row with as many cells."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = (row for row in csv.reader(file, strict=True) if row)
            header = _header(next(lines, []), path)
            yield header
            for position, row in enumerate(lines, 2):
                if len(row) != len(header):
                    raise WorkbenchError(
                        f"Expected {len(header)} cells in every row of {path}, as in its headings, got {len(row)} in row {position}."
                    )
                if may_run("".join(row)) and any(seen(cell).startswith(FORMULAS) for cell in row):
                    raise WorkbenchError(
                        f"Expected values in {path}, got a formula in row {position}. Save the file with values in their place."
                    )
                yield row
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"Expected UTF-8 text in {path}, got other bytes ({error.reason}). Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise WorkbenchError(f"Expected a CSV file in {path}, got one that cannot be read ({error}). Save it anew.") from None
    except OSError as error:
        raise WorkbenchError(f"Expected a CSV file at {path}, which cannot be read ({error.strerror}).") from None


def may_run(text: str) -> bool:
    """Whether some letter begins a formula: so most rows need no second look."""
    return any(letter in text for letter in FORMULAS)


def _parquet_rows(path: Path) -> Iterator[Row]:
    """The same of a Parquet file, whose values are read as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield _header(file.schema_arrow.names, path)
            for batch in file.iter_batches(AT_ONCE):
                yield from texts_of(batch)
    except (pa.ArrowException, OSError) as error:
        raise WorkbenchError(f"Expected a Parquet file at {path}, which cannot be read ({str(error).splitlines()[0]}).") from None


def _header(cells: Sequence[str], path: Path) -> Header:
    names = [cell.strip() for cell in cells]
    if len(names) < 2:
        found = f"; is it {names[0].count(mark) + 1} columns with {mark!r} between?" if names and (mark := _separator(names[0])) else "."
        raise WorkbenchError(f"Expected at least two columns with commas between in {path}, got {len(names)}{found}")
    if any(not name or number(name) is not None for name in names):
        raise WorkbenchError(f"Expected a first line of column names in {path}, got numbers or empty cells. Add the names.")
    return check_words(names, f"columns' names in {path}")


def _separator(text: str) -> str:
    return next((mark for mark in OTHER_SEPARATORS if mark in text), "")
