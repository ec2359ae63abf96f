"""The user's own table: a CSV file with a line of headings, read as its declaration says; or a frame that Python has already.

A sixth is held out by position and seed alone, or a file of its own is; the number of training rows is public: so no row decides a
fact, or another row's place.
"""

import csv
import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.declaration import TableDeclaration, number
from workbench.datasets.naming import check_words
from workbench.datasets.splits import check_splittable, held_out_count, position_split
from workbench.errors import WorkbenchError
from workbench.escaping import seen
from workbench.records import Records

if TYPE_CHECKING:
    import pandas as pd

SUFFIX = ".csv"
BESIDE = ".declared.json"  # in the place of .csv: the declaration that is taken where none is given
OTHER_SEPARATORS = (";", "\t", "|")
FORMULAS = ("=", "@", "\uff1d", "\uff20")  # what no value begins with, and what a spreadsheet would carry out
Rows = list[list[str]]


def facts(path: Path, name: str, declared: TableDeclaration | None, held_out: Path | None = None) -> DatasetFacts:
    """The declared facts and the number of training rows; what is in the cells, or in held-out rows of one's own, decides nothing."""
    known = declaration_of(path, declared)
    header, rows = read(path)
    if held_out is not None:
        check_apart(path, held_out)
    return _facts(name, known.in_order(header), len(rows), str(path), apart=held_out is not None)


def load(path: Path, name: str, declared: TableDeclaration | None, seed: int = 0, held_out: Path | None = None) -> Dataset:
    """The rows by the numbers of their categories: a sixth held out by `seed`, or all to train on beside `held_out`'s."""
    known = declaration_of(path, declared)
    if held_out is None:
        return _dataset(*read(path), name, known, seed, path.name)
    check_apart(path, held_out)
    header, rows = read(path)
    known = known.in_order(header)
    return Dataset(
        _facts(name, known, len(rows), str(path), apart=True),
        _records(header, rows, known, path.name),
        _records(*read(held_out), known, held_out.name),
    )


def check_apart(path: Path, held_out: Path) -> None:
    """Refuse held-out rows that are not there, or are the training rows themselves."""
    if not held_out.is_file():
        raise WorkbenchError(f"Expected held-out rows in a CSV file at {held_out}, found none.")
    if path.is_file() and filecmp.cmp(path, held_out, shallow=False):
        raise WorkbenchError(f"Expected held-out rows apart from the training rows, got a copy of {path.name}. Leave --held-out out.")


def of_frame(frame: "pd.DataFrame", declared: TableDeclaration, name: str, seed: int = 0) -> Dataset:
    """A pandas frame, or what has `to_pandas` as Arrow tables do, read as if it came from a CSV file."""
    table: pd.DataFrame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame  # pyright: ignore[reportCallIssue]
    header = check_words([str(column) for column in table.columns], "columns' names")
    columns = [["" if missing else str(cell) for cell, missing in zip(table[c], table[c].isna(), strict=True)] for c in table.columns]
    return _dataset(header, [list(row) for row in zip(*columns, strict=True)], name, declared, seed, name)


def declaration_of(path: Path, declared: TableDeclaration | None) -> TableDeclaration:
    """What was declared, or what the file beside says; refuses where neither does."""
    beside = path.with_suffix(BESIDE)
    if declared is None and beside.is_file():
        return TableDeclaration.parse(str(beside))
    if declared is None:
        read(path)  # says what is wrong with the file itself, if anything is
        raise WorkbenchError(
            f"Expected a declaration of the columns of {path}, got none: what is public is declared and not found in private rows. "
            f"`workbench declare {path.name}` proposes one; read it, and give it as --declared FILE."
        )
    return declared


def read(path: Path) -> tuple[tuple[str, ...], Rows]:
    """Headings and rows of a file; refuses in a sentence what is no table of UTF-8 text with a line of headings."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [row for row in csv.reader(file, strict=True) if row]
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"Expected UTF-8 text in {path}, got other bytes ({error.reason}). Save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise WorkbenchError(f"Expected a CSV file in {path}, got one that cannot be read ({error}). Save it anew.") from None
    except OSError as error:
        raise WorkbenchError(f"Expected a CSV file at {path}, which cannot be read ({error.strerror}).") from None
    header = _header(lines[0] if lines else [], path)
    for position, row in enumerate(lines[1:], 2):
        if len(row) != len(header):
            raise WorkbenchError(
                f"Expected {len(header)} cells in every row of {path}, as in its headings, got {len(row)} in row {position}."
            )
        if any(seen(cell).startswith(FORMULAS) for cell in row):
            raise WorkbenchError(f"Expected values in {path}, got a formula in row {position}. Save the file with values in their place.")
    return header, lines[1:]


def _header(cells: Sequence[str], path: Path) -> tuple[str, ...]:
    names = [cell.strip() for cell in cells]
    if len(names) < 2:
        found = f"; is it {names[0].count(mark) + 1} columns with {mark!r} between?" if names and (mark := _separator(names[0])) else "."
        raise WorkbenchError(f"Expected at least two columns with commas between in {path}, got {len(names)}{found}")
    if any(not name or number(name) is not None for name in names):
        raise WorkbenchError(f"Expected a first line of column names in {path}, got numbers or empty cells. Add the names.")
    return check_words(names, f"columns' names in {path}")


def _separator(text: str) -> str:
    return next((mark for mark in OTHER_SEPARATORS if mark in text), "")


def _facts(name: str, declared: TableDeclaration, count: int, where: str, *, apart: bool = False) -> DatasetFacts:
    """Of so many rows, all of which are trained on where the held-out ones are in a file `apart`."""
    check_splittable(count, where, "rows")
    train = count if apart else count - held_out_count(count)
    return DatasetFacts(name=name, kind=declared.kind, num_records=train, classes=declared.classes)


def _dataset(header: Sequence[str], rows: Rows, name: str, declared: TableDeclaration, seed: int, where: str) -> Dataset:
    declared = declared.in_order(header)
    known = _facts(name, declared, len(rows), where)
    records = _records(header, rows, declared, where)
    train, held_out = position_split(len(rows), seed)
    return Dataset(known, records.take(train), records.take(held_out))


def _records(header: Sequence[str], rows: Rows, declared: TableDeclaration, where: str) -> Records:
    """All rows by the numbers of their categories."""
    if not rows:
        raise WorkbenchError(f"Expected rows below the headings of {where}, got none.")
    absent = [column.name for column in declared.columns if column.name not in header]
    if absent:
        raise WorkbenchError(f"Expected the declared columns in {where}, got none called {', '.join(absent)}. Correct the declaration.")
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    values = np.stack([column.numbered(cells[column.name], where) for column in declared.features], axis=1)
    labels = declared.label.numbered(cells[declared.label.name], where) if declared.label else None
    return Records(values, labels)
