"""A declaration of columns as the rows of a grid, which people change cell by cell, and back."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from workbench.datasets.declaration import DeclaredColumn, Rules, TableDeclaration, even_edges, number, number_text
from workbench.datasets.proposal import propose_column
from workbench.datasets.row_files import text_counts, text_rows
from workbench.errors import WorkbenchError, first_complaint
from workbench.records.tables import MOST_DECIMALS

Row = Mapping[str, Any]
DOUBLE = '"'
CATEGORIES, NUMBERS = "categories", "numbers"
EMPTY: dict[str, Any] = {"lower": None, "upper": None, "bins": None, "decimals": None} | dict.fromkeys(
    ("categories", "points", "other", "missing"), ""
)
LISTED = "Categories between commas, in quotation marks where one has a comma; of numbers, the edges themselves where bins are uneven."
HEADINGS: dict[str, Any] = {
    "read": st.column_config.CheckboxColumn("Read", help="A column that is not read is used nowhere."),
    "column": st.column_config.TextColumn("Column", disabled=True),
    "kind": st.column_config.SelectboxColumn("Kind", options=[CATEGORIES, NUMBERS], required=True),
    "lower": st.column_config.NumberColumn("Lower", help="Where the first bin begins; smaller numbers count in it."),
    "upper": st.column_config.NumberColumn("Upper", help="Where the last bin ends; larger numbers count in it."),
    "bins": st.column_config.NumberColumn("Bins", min_value=1, step=1, help="Bins of equal width between the limits."),
    "decimals": st.column_config.NumberColumn(
        "Decimals",
        min_value=0,
        max_value=MOST_DECIMALS,
        step=1,
        help="Digits behind the point of drawn numbers; none for whole edges if empty.",
    ),
    "categories": st.column_config.TextColumn("Categories", help=LISTED, width="large"),
    "points": st.column_config.TextColumn("Apart", help="Numbers between commas that are a category each, such as a heap at 0."),
    "other": st.column_config.TextColumn("Any other is", help="The category of every other text; without one such cells are refused."),
    "missing": st.column_config.TextColumn("Empty is", help="The category of an empty cell; without one such cells are refused."),
    "target": st.column_config.CheckboxColumn("Target", help="The column that is the class: one, or none."),
    "person": st.column_config.CheckboxColumn("Person", help="The column that names who has the row, where somebody may have several."),
}


def rows_of(declared: TableDeclaration) -> list[dict[str, Any]]:
    """A row a column, that of the persons last."""
    rows = [_row(column, target=column.name == declared.target) for column in declared.columns]
    return [*rows, *[{**_unread(declared.person), "person": True}] * bool(declared.person)]


def proposed_rows(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for every column of a file, proposed from its cells, and why some are not read; the last that is read is the target."""
    header, cells = text_rows(path)
    texts, _ = text_counts(header, cells)
    rows, reasons = list[dict[str, Any]](), list[str]()
    for name in header:
        try:
            rows.append(_row(propose_column(name, texts[name], name == header[-1]), target=False))
        except WorkbenchError as error:
            rows.append(_unread(name))
            reasons.append(str(error))
    for row in [row for row in rows if row["read"]][-1:]:
        row["target"] = True
    return rows, reasons


def declaration_from(rows: Iterable[Row], rows_per_person: int | None = None, never: Rules = ()) -> TableDeclaration:
    """What the rows that are read declare, with rules between them; a WorkbenchError says what is missing.

    `rows_per_person` counts beside a column of persons alone, which is not read as a feature.
    """
    rows = list(rows)
    persons = [row["column"] for row in rows if row["person"]]
    wanted = [row for row in rows if row["read"] and not row["person"]]
    targets = [row["column"] for row in wanted if row["target"]]
    for what, named in (("target", targets), ("person", persons)):
        if len(named) > 1:
            raise WorkbenchError(f"Expected one {what} column, or none, got {' and '.join(named)}.")
    most_rows = (rows_per_person or 0) if persons else 0
    try:
        return TableDeclaration(
            columns=tuple(map(_column, wanted)),
            target="".join(targets),
            person="".join(persons),
            rows_per_person=most_rows,
            never=never,
        )
    except ValidationError as error:
        raise WorkbenchError(f"Expected a declaration of columns: {first_complaint(error)}") from None


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """The rows as a table of the types that their headings edit."""
    return pd.DataFrame(list(rows), columns=list(HEADINGS)).astype(
        {"lower": "float64", "upper": "float64", "bins": "Int64", "decimals": "Int64"}
    )


def show_declaration(declared: TableDeclaration) -> None:
    """What is declared, as a table to look at."""
    rows = [{name: _cell_text(row[name]) for name in HEADINGS if name != "read"} for row in rows_of(declared)]
    words = {name: st.column_config.TextColumn(heading["label"]) for name, heading in HEADINGS.items()}
    st.dataframe(pd.DataFrame(rows), column_config=words, hide_index=True, alt=f"The {len(rows)} columns that are declared")


def edited_rows(rows: Iterable[Row], key: str) -> list[dict[str, Any]]:
    """The rows as they are changed in a grid."""
    table = st.data_editor(frame(rows), key=key, column_config=HEADINGS, hide_index=True, num_rows="fixed", width="stretch")
    return [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in table.to_dict("records")]


def _unread(name: str) -> dict[str, Any]:
    """A column that is no feature."""
    return {"read": False, "column": name, "kind": CATEGORIES, **EMPTY, "target": False, "person": False}


def _cell_text(value: Any) -> str:
    """A cell to look at."""
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    return value if isinstance(value, str) else f"{value:g}"


def _row(column: DeclaredColumn, target: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"read": True, "column": column.name, **EMPTY, "other": column.other, "missing": column.missing, "target": target}
    row["person"] = False
    if not column.edges:
        return row | {"kind": CATEGORIES, "categories": _joined_words(column.categories)}
    row |= {"kind": NUMBERS, "points": _joined_words(map(number_text, column.points)), "decimals": column.decimals}
    low, high, bins = column.edges[0], column.edges[-1], len(column.edges) - 1
    if column.edges != even_edges(low, high, bins):
        return row | {"categories": _joined_words(f"{edge:.15g}" for edge in column.edges)}
    return row | {"lower": low, "upper": high, "bins": bins}


def _column(row: Row) -> DeclaredColumn:
    words: dict[str, Any] = {name: (row[name] or "").strip() for name in ("other", "missing")}
    listed = _words(row["categories"] or "")
    if row["kind"] == CATEGORIES:
        return DeclaredColumn(name=row["column"], categories=tuple(listed), **words)
    words["decimals"] = None if row["decimals"] is None else int(row["decimals"])
    words["points"] = tuple(_numbers(row["column"], _words(row["points"] or ""), "points"))
    if listed:
        return DeclaredColumn(name=row["column"], edges=tuple(_numbers(row["column"], listed, "edges")), **words)
    if row["lower"] is None or row["upper"] is None or not row["bins"] or not row["lower"] < row["upper"]:
        raise WorkbenchError(f"Expected a lower limit of {row['column']!r}, an upper one above it, and a number of bins. Fill them in.")
    return DeclaredColumn(name=row["column"], edges=even_edges(row["lower"], row["upper"], int(row["bins"])), **words)


def _numbers(name: str, texts: Iterable[str], what: str) -> list[float]:
    numbers = [number(text) for text in texts]
    values = [value for value in numbers if value is not None]
    if len(values) < len(numbers) or values != sorted(set(values)):
        raise WorkbenchError(f"Expected rising {what} of {name!r} between commas, as 0, 10, 50, got something else.")
    return values


def _joined_words(words: Iterable[str]) -> str:
    """Words between commas, which `_words` reads again."""

    def quoted(word: str) -> str:
        return f'"{word.replace(DOUBLE, 2 * DOUBLE)}"' if "," in word or DOUBLE in word else word

    return ", ".join(map(quoted, words))


def _words(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for row in csv.reader([text], skipinitialspace=True) for word in row if word.strip()]
