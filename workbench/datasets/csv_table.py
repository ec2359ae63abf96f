"""The user's own table: a CSV file with a line of headings, read as its declaration says; or a frame that Python has already.

A sixth is held out by position and seed alone, or a file of its own is; the number of training rows is public: so no row decides a
fact, or another row's place. Of a table whose persons have several rows, a sixth of the persons is held out with all their rows.
"""

import filecmp
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts, Persons
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.frames import frame_rows
from workbench.datasets.person_rows import PersonRows, kept_count, numbered_persons
from workbench.datasets.row_files import CSV, Row, parts_of, text_rows
from workbench.datasets.splits import check_splittable, held_out_count, position_split
from workbench.errors import WorkbenchError
from workbench.escaping import spreadsheet_cell
from workbench.records import Records

if TYPE_CHECKING:
    import pandas as pd

    from workbench.datasets.frames import ArrowStream

SUFFIX = CSV
BESIDE = ".declared.json"  # in the place of .csv: the declaration that is taken where none is given


def facts(path: Path, name: str, declared: TableDeclaration | None, held_out: Path | None = None, seed: int = 0) -> DatasetFacts:
    """The declared facts and the number of training rows; what is in the cells, or in held-out rows of one's own, decides nothing.

    But for the column of persons: which rows are of one person is public, and says how many rows take part.
    """
    known = declaration_of(path, declared)
    header, rows = text_rows(path)
    if held_out is not None:
        check_apart(path, held_out)
    count, cells = 0, list[str]()
    place = _place_of_person(header, known, path.name)
    for row in rows:
        count += 1
        if place is not None:
            cells.append(row[place].strip())
    persons = None if place is None else numbered_persons(cells, known.person, path.name)
    return _facts(name, known.in_order(header), count, str(path), persons, seed, apart=held_out is not None)


def load(path: Path, name: str, declared: TableDeclaration | None, seed: int = 0, held_out: Path | None = None) -> Dataset:
    """The rows by the numbers of their categories: a sixth held out by `seed`, or all to train on beside `held_out`'s.

    Of persons with several rows a sixth is held out with all that they have, and at most the declared number of rows of each is kept.
    """
    known = declaration_of(path, declared)
    if held_out is None:
        return _dataset(*text_rows(path), name, known, seed, path.name)
    check_apart(path, held_out)
    header, rows = text_rows(path)
    known = known.in_order(header)
    ours, theirs = read_in(header, rows, known, path.name), read_in(*text_rows(held_out), known, held_out.name)
    facts = _facts(name, known, len(ours.records), str(path), ours.numbers, seed, apart=True)
    if ours.numbers is None or theirs.numbers is None:
        return Dataset(facts, ours.records, theirs.records)
    if {*ours.persons} & {*theirs.persons}:
        raise WorkbenchError(f"Expected other persons in {held_out.name} than in {path.name}, got some in both. Leave them out of either.")
    train = PersonRows(ours.records, ours.numbers, known.rows_per_person)
    apart = PersonRows(theirs.records, theirs.numbers, known.rows_per_person)
    return Dataset(facts, train.drawn_by(seed), apart.drawn_by(seed), train)


def check_apart(path: Path, held_out: Path) -> None:
    """Refuse held-out rows that are not there, or are the training rows themselves."""
    if not held_out.is_file():
        raise WorkbenchError(f"Expected held-out rows in a CSV file at {held_out}, found none.")
    if path.is_file() and filecmp.cmp(path, held_out, shallow=False):
        raise WorkbenchError(f"Expected held-out rows apart from the training rows, got a copy of {path.name}. Leave --held-out out.")


def of_frame(frame: "pd.DataFrame | ArrowStream", declared: TableDeclaration, name: str, seed: int = 0) -> Dataset:
    """A frame of pandas, Polars or Arrow, read as if it came from a CSV file."""
    return _dataset(*frame_rows(frame), name, declared, seed, name)


def broken_rules(path: Path, declared: TableDeclaration) -> list[int]:
    """How many rows of a file break each declared rule: private, and for the eyes of those who have the rows."""
    header, rows = text_rows(path)
    known = declared.in_order(header)
    return [int(broken.sum()) for broken in known.kind.rows_breaking(read_in(header, rows, known, path.name).records)]


def declaration_of(path: Path, declared: TableDeclaration | None) -> TableDeclaration:
    """What was declared, or what the file beside says; refuses where neither does."""
    beside = path.with_suffix(BESIDE)
    if declared is None and beside.is_file():
        return TableDeclaration.parse(str(beside))
    if declared is None:
        deque(text_rows(path)[1], maxlen=0)  # says what is wrong with the file itself, if anything is
        raise WorkbenchError(
            f"Expected a declaration of the columns of {path}, got none: what is public is declared and not found in private rows. "
            f"`workbench declare {path.name}` proposes one; read it, and give it as --declared FILE."
        )
    return declared


def _facts(
    name: str, declared: TableDeclaration, count: int, where: str, persons: np.ndarray | None, seed: int, *, apart: bool = False
) -> DatasetFacts:
    """Of so many rows, all of which are trained on where the held-out ones are in a file `apart`; of persons, those that take part."""
    fields: dict[str, Any] = {"name": name, "kind": declared.kind, "classes": declared.classes}
    if persons is None:
        check_splittable(count, where, "rows")
        return DatasetFacts(**fields, num_records=count if apart else count - held_out_count(count))
    numbers = np.unique(persons)
    check_splittable(len(numbers), where, "persons")
    ours = numbers if apart else position_split(len(numbers), seed)[0]
    whose = Persons(column=declared.person, most_rows=declared.rows_per_person, number=len(ours))
    rows = kept_count(persons[np.isin(persons, ours)], declared.rows_per_person)
    return DatasetFacts(**fields, num_records=rows, persons=whose)


def _dataset(header: Sequence[str], rows: Iterable[Row], name: str, declared: TableDeclaration, seed: int, where: str) -> Dataset:
    declared = declared.in_order(header)
    table = read_in(header, rows, declared, where)
    known = _facts(name, declared, len(table.records), where, table.numbers, seed)
    if table.numbers is None:
        train, held_out = position_split(len(table.records), seed)
        return Dataset(known, table.records.take(train), table.records.take(held_out))
    everyone = PersonRows(table.records, table.numbers, declared.rows_per_person)
    theirs, others = (everyone.take(side) for side in position_split(int(table.numbers.max()) + 1, seed))
    return Dataset(known, theirs.drawn_by(seed), others.drawn_by(seed), theirs)


class CsvRows(NamedTuple):
    """The rows of a file: their records; who each is of as the file says, and by number int64 (N,), nothing where nobody has several."""

    records: Records
    persons: list[str]
    numbers: np.ndarray | None


def _place_of_person(header: Sequence[str], declared: TableDeclaration, where: str) -> int | None:
    """Which column names the person; None where each row is of somebody else."""
    if not declared.person:
        return None
    if declared.person not in header:
        raise WorkbenchError(
            f"Expected the column {declared.person!r}, which names the person, in {where}, got none. Correct the declaration."
        )
    return list(header).index(declared.person)


def read_in(header: Sequence[str], rows: Iterable[Row], declared: TableDeclaration, where: str) -> CsvRows:
    """All rows by the numbers of their categories, a part at a time, and whose they are."""
    inert = {spreadsheet_cell(column.name): column.name for column in declared.columns}  # as samples have it
    header = [name if name in inert.values() else inert.get(name, name) for name in header]
    absent = [column.name for column in declared.columns if column.name not in header]
    if absent:
        raise WorkbenchError(f"Expected the declared columns in {where}, got none called {', '.join(absent)}. Correct the declaration.")
    place = _place_of_person(header, declared, where)
    parts, persons, line = list[Records](), list[str](), 2
    for part in parts_of(rows):
        cells = dict(zip(header, zip(*part, strict=True), strict=True))
        values = np.stack([column.category_numbers(cells[column.name], where, line) for column in declared.features], axis=1)
        labels = declared.label.category_numbers(cells[declared.label.name], where, line) if declared.label else None
        parts.append(Records(values, labels))
        persons += [] if place is None else [row[place].strip() for row in part]
        line += len(part)
    if not parts:
        raise WorkbenchError(f"Expected rows below the headings of {where}, got none.")
    return CsvRows(Records.joined(parts), persons, None if place is None else numbered_persons(persons, declared.person, where))
