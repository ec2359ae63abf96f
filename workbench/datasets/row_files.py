"""Rows of text in a file, a CSV or Parquet one, read a part at a time: what is wrong with it is said in a sentence."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.datasets.declaration import number
from workbench.datasets.naming import check_words
from workbench.errors import WorkbenchError
from workbench.escaping import visible_text

if TYPE_CHECKING:
    import pyarrow as pa

CSV, PARQUET = ".csv", ".parquet"
OTHER_SEPARATORS = (";", "\t", "|")
FORMULAS = ("=", "@", "\uff1d", "\uff20")  # what no value begins with, and what a spreadsheet would carry out
AT_ONCE = 50_000  # rows
LARGEST_WHOLE = 1e15  # that is written digit by digit
TOLD_EVERY = 10_000  # rows
_WATCHER: ContextVar[Callable[[float], None] | None] = ContextVar("watcher of reading", default=None)
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


@contextmanager
def reading_progress(move: Callable[[float], None]) -> Iterator[None]:
    """Tell `move` how far a file of rows is read inside, as a share from 0 to 1, again for the next file."""
    token = _WATCHER.set(move)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def _tell(share: float) -> None:
    """How far the file at hand is read, to whoever watches."""
    if (move := _WATCHER.get()) is not None:
        move(share)


def text_counts(header: Header, rows: Iterable[Row]) -> tuple[dict[str, Counter[str]], int]:
    """How often each text stands in each column, blanks around it left out, and the number of rows."""
    counters, total = {name: Counter[str]() for name in header}, 0
    for part in parts_of(rows):
        for name, cells in zip(header, zip(*part, strict=True), strict=True):
            counters[name].update(map(str.strip, cells))
        total += len(part)
    return counters, total


def texts_of(table: "pa.Table | pa.RecordBatch") -> Iterator[Row]:
    """The rows of an Arrow table as text, nothing where a value is missing."""
    yield from zip(*(list(map(text_of, column.to_pylist())) for column in table.columns), strict=True)


def text_of(value: Any) -> str:
    """A value of a frame as it would stand in a file: nothing where it is missing, and 1 for the number 1.0."""
    if value is None or value != value:  # NaN alone differs from itself
        return ""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE else str(value)


def _csv_rows(path: Path) -> Iterator[Row]:
    """The headings, and every row with as many cells."""
    try:
        with path.open("rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
            lines = (row for row in csv.reader(file, strict=True) if row)
            header = _header(next(lines, []), path)
            yield header
            size = max(path.stat().st_size, 1)
            for position, row in enumerate(lines, 2):
                if position % TOLD_EVERY == 0:
                    _tell(min(raw.tell() / size, 1.0))
                if len(row) != len(header):
                    raise WorkbenchError(
                        f"Expected {len(header)} cells in every row of {path}, as in its headings, got {len(row)} in row {position}."
                    )
                if may_run("".join(row)) and any(visible_text(cell).startswith(FORMULAS) for cell in row):
                    raise WorkbenchError(
                        f"Expected values in {path}, got a formula in row {position}. Save the file with values in their place."
                    )
                yield row
            _tell(1.0)
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
            done, rows = 0, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(AT_ONCE):
                yield from texts_of(batch)
                done += batch.num_rows
                _tell(done / rows)
    except (pa.ArrowException, OSError) as error:
        raise WorkbenchError(f"Expected a Parquet file at {path}, which cannot be read ({str(error).splitlines()[0]}).") from None


def _header(cells: Sequence[str], path: Path) -> Header:
    names = [cell.strip() for cell in cells]
    if len(names) < 2:
        guess = f"; is it {names[0].count(mark) + 1} columns with {mark!r} between?" if names and (mark := _separator(names[0])) else "."
        raise WorkbenchError(f"Expected at least two columns with commas between in {path}, got {len(names)}{guess}")
    if any(not name or number(name) is not None for name in names):
        raise WorkbenchError(f"Expected a first line of column names in {path}, got numbers or empty cells. Add the names.")
    return check_words(names, f"columns' names in {path}")


def _separator(text: str) -> str:
    return next((mark for mark in OTHER_SEPARATORS if mark in text), "")
