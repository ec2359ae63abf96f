"""What the user declares public of a table of their own: which columns there are, and what may stand in each.

All that a plan depends on is here and none of it is found in the records when they are trained on. A cell that is not declared is an
error, unless its column has a category for any other text or for what is missing: so rare categories are merged by declaration.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.datasets.naming import check_words
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.escaping import spreadsheet_cell
from workbench.records import Column, TableKind
from workbench.records.rules import Rule
from workbench.records.tables import CLASS, MOST_DECIMALS

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})  # cells without a value, in small letters
ABSENT = frozenset({"missing", "unknown"})  # categories for cells without a value, where nobody says which is
MOST_CATEGORIES = 1_000
WITH_ZEROS = re.compile(r"([+-]?[0-9]+)\.0*")
SIDE = re.compile(r"(<|>=) *(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)")  # of an edge, in a rule
LARGEST_WHOLE = 1e15  # from which on floats are told in powers of ten

Rules = tuple[dict[str, tuple[str, ...]], ...]


class DeclaredColumn(BaseModel):
    """One column: its `categories`, or the `edges` of its ranges if it has numbers.

    `points`, beside edges and rising: numbers that are a category each, such as a heap at 0, and in none of the ranges.
    `decimals`: how many digits drawn numbers have behind the point; without them none where all edges are whole.
    `other` is the category of every other text, `missing` that of an empty cell; either may be one of the categories. Without them
    such cells are refused. Numbers beyond the edges count in the outermost range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(description="Its heading in the file.")
    categories: tuple[str, ...] = Field(default=(), max_length=MOST_CATEGORIES, description="Texts that may stand in it.")
    edges: tuple[float, ...] = Field(default=(), max_length=MOST_CATEGORIES, description="Of its ranges, rising, if it has numbers.")
    points: tuple[float, ...] = Field(
        default=(), max_length=MOST_CATEGORIES, description="Numbers that are a category each and in no range, rising, beside edges."
    )
    decimals: int | None = Field(
        default=None, ge=0, le=MOST_DECIMALS, description="Digits of drawn numbers behind the point; none where all edges are whole."
    )
    other: str = Field(default="", description="The category of every other text; without one such a text is refused.")
    missing: str = Field(default="", description="The category of an empty cell; without one it is refused.")

    @model_validator(mode="after")
    def _has_either(self) -> Self:
        if bool(self.categories) == bool(self.edges):
            raise ValueError(f"Expected categories of {self.name}, or edges of its ranges, got {'both' if self.edges else 'none'}.")
        if self.points and not self.edges:
            raise ValueError(f"Expected edges of {self.name} beside its points, got none: numbers that are no points are in ranges.")
        if any(low >= high for low, high in pairwise(self.points)):
            raise ValueError(f"Expected rising points of {self.name}, got {', '.join(map(number_text, self.points))}.")
        if self.decimals is not None and any(abs(edge - round(edge, self.decimals)) > 1e-12 * abs(edge) for edge in self.edges):
            raise ValueError(
                f"Expected edges of {self.name} with at most {self.decimals} decimals, got {', '.join(map(number_text, self.edges))}."
            )
        check_words([self.name], "columns' names")
        check_words(self.column.categories, f"categories of {self.name}")
        return self

    @property
    def column(self) -> Column:
        """The column as records have it: categories, or ranges and points, then those of other texts and of what is missing."""
        ranges = Column.of_ranges(self.name, self.edges) if self.edges else None
        own = (*ranges.categories, *map(number_text, self.points)) if ranges else self.categories
        added = tuple(dict.fromkeys(text for text in (self.other, self.missing) if text and text not in own))
        return Column(name=self.name, categories=own + added, edges=self.edges, decimals=self.decimals)

    def positions(self, texts: Sequence[str]) -> tuple[int, ...]:
        """The categories that a rule names, rising: by name, or all ranges and points below (`< EDGE`) or from an edge on (`>= EDGE`)."""
        known = {name: place for place, name in enumerate(self.column.categories)}
        positions = set[int]()
        for text in texts:
            side = SIDE.fullmatch(text) if self.edges and text not in known else None
            positions |= set(self._beside(side[1] == "<", float(side[2]))) if side else {choose(text, known, f"category of {self.name}")}
        return tuple(sorted(positions))

    def _beside(self, below: bool, edge: float) -> list[int]:
        if edge not in self.edges:
            raise WorkbenchError(
                f"Expected an edge of {self.name} in a rule, got {number_text(edge)}. "
                f"Choose one of: {', '.join(map(number_text, self.edges))}."
            )
        ranges = [place for place, low in enumerate(self.edges[:-1]) if (low < edge) == below]
        first = len(self.edges) - 1
        return ranges + [first + place for place, point in enumerate(self.points) if (point < edge) == below]

    def category_numbers(self, cells: Sequence[str], where: str, first_line: int = 2) -> np.ndarray:
        """The number of each cell's category, int64 (N,). Refuses what is not declared by its line, and never tells the cell."""
        texts, inverse = np.unique(np.array([cell.strip() for cell in cells], dtype=object), return_inverse=True)
        names = self.column.categories
        known = {
            form(name): place for form in (spreadsheet_cell, whole_number_text, str) for place, name in enumerate(names)
        }  # as samples have it too
        numbers = np.array([self._number(text, known) for text in texts], dtype=np.int64)[inverse]
        if (numbers < 0).any():
            line = int(np.argmax(numbers < 0)) + first_line
            raise WorkbenchError(
                f"Expected declared values in the column {self.name!r} of {where}, got another in line {line}. Declare it, or a category "
                'for every other text ("other": "other") or for empty cells ("missing": "missing") in the column.'
            )
        return numbers

    def _number(self, text: str, known: Mapping[str, int]) -> int:
        """The category's number by those of all, or -1 for what is not declared."""
        if (
            place := known.get(text, known.get(whole_number_text(text)))
        ) is not None:  # a range, or what is missing, as samples have it too
            return place
        if text.lower() in MISSING:
            return known.get(self.missing, -1)
        value = number(text) if self.edges else None
        if value is None:
            return known.get(self.other, -1)
        if value in self.points:
            return known[number_text(self.points[self.points.index(value)])]
        return bisect_right(self.edges[1:-1], value)


def whole_number_text(text: str) -> str:
    """A whole number without a point and zeros behind it, `1` of `1.0`: tools add them where a cell is missing; other texts as they are."""
    return match[1] if (match := WITH_ZEROS.fullmatch(text)) else text


class TableDeclaration(BaseModel):
    """The columns that are read, the others being left out, and which of them is the class (`target`; none if empty).

    Where somebody may have several rows, `person` is the column that names them, which is no feature, and `rows_per_person` how many
    rows of each take part at most: a bound protects a person then, and a row otherwise.

    `never`: rules of what stands together in no row, as {"age": ["< 15"], "marital-status": ["Married"]}: of each column categories, or
    `< EDGE` and `>= EDGE` for all ranges and points on that side. No row that is drawn breaks one; rows of the file may.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[DeclaredColumn, ...] = Field(min_length=1)
    target: str = Field(default="", description="The column of the class; empty for a table without classes.")
    person: str = Field(default="", description="The column that names the person, if a person may have several rows; it is no feature.")
    rows_per_person: int = Field(default=0, ge=0, le=1_000_000, description="How many rows of each person take part at most.")
    never: Rules = Field(default=(), description='Combinations that no drawn row has: lists of categories, or of `"< EDGE"`, by column.')

    @model_validator(mode="after")
    def _names_its_columns(self) -> Self:
        names = [column.name for column in self.columns]
        check_words(names, "columns' names")
        if self.target:
            choose(self.target, dict.fromkeys(names), "target column")
        if names == [self.target]:
            raise ValueError(f"Expected columns beside the target {self.target!r}, got none.")
        if bool(self.person) != bool(self.rows_per_person):
            raise ValueError(
                f"Expected `person`, a column, together with `rows_per_person` from 1, got {self.person!r} and {self.rows_per_person}."
            )
        if self.person:
            check_words([self.person], "columns' names")
        if self.person in names:
            raise ValueError(f"Expected the column {self.person!r}, which names the person, to be no feature, got it among the columns.")
        for rule in self.never:
            self.rule(rule)
        return self

    def rule(self, named: Mapping[str, Sequence[str]]) -> Rule:
        """A rule by positions of categories; refuses an unknown column, category or edge by name."""
        columns = {column.name: column for column in self.columns}
        values = tuple(choose(name, columns, "column of a rule").positions(texts) for name, texts in named.items())
        return Rule(columns=tuple(named), values=values)

    @classmethod
    def of_kind(cls, kind: TableKind, classes: Sequence[str]) -> Self:
        """What such rows are read by where only the facts are known: a cell without a value is what is called missing or unknown."""
        columns = [_declared_column(column) for column in kind.columns]
        if classes:
            columns.append(_declared_column(Column(name=kind.label, categories=tuple(classes))))
        return cls(columns=tuple(columns), target=kind.label if classes else "")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The declaration in JSON, or in the file of JSON that `text` names."""
        if not text.lstrip().startswith("{"):
            text = _content(Path(text))
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise WorkbenchError(f"Expected a declaration of columns as JSON: {first_complaint(error)}") from None

    @property
    def text(self) -> str:
        """The canonical JSON, without what stands at its default."""
        return self.model_dump_json(exclude_defaults=True)

    @property
    def features(self) -> tuple[DeclaredColumn, ...]:
        """The columns but the target."""
        return tuple(column for column in self.columns if column.name != self.target)

    @property
    def label(self) -> DeclaredColumn | None:
        """The target."""
        return next((column for column in self.columns if column.name == self.target), None)

    @property
    def kind(self) -> TableKind:
        """What a record is."""
        place = [column.name for column in self.columns].index(self.target) if self.target else 0
        columns = tuple(column.column for column in self.features)
        return TableKind(columns=columns, label=self.target or CLASS, label_place=place, never=tuple(map(self.rule, self.never)))

    def in_order(self, header: Sequence[str]) -> Self:
        """The same with its columns in the order of a file's headings; those that the file lacks are last."""
        places = {name: place for place, name in enumerate(header)}
        return self.model_copy(update={"columns": tuple(sorted(self.columns, key=lambda one: places.get(one.name, len(places))))})

    @property
    def classes(self) -> tuple[str, ...]:
        """The target's categories; none without a target."""
        return self.label.column.categories if self.label else ()


def _declared_column(column: Column) -> DeclaredColumn:
    """A column of records as it may have been declared; the category of what is missing is the last, behind that of other texts."""
    beside = column.categories[column.num_ranges :]
    missing = next((text for text in reversed(beside) if text.lower() in ABSENT), "")
    if not column.edges:
        return DeclaredColumn(name=column.name, categories=column.categories, missing=missing)
    points = tuple(value for text in beside if (value := number(text)) is not None)
    other = next((text for text in beside if text != missing and number(text) is None), "")
    rebuilt = DeclaredColumn(name=column.name, edges=column.edges, points=points, other=other, missing=missing, decimals=column.decimals)
    if rebuilt.column.categories != column.categories:
        raise WorkbenchError(f"Expected a declaration of the column {column.name!r}, which has more beside its ranges than numbers.")
    return rebuilt


def even_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """The edges of so many bins of equal width, rounded where binary fractions are not."""
    return tuple(float(f"{low + (high - low) * place / bins:.12g}") for place in range(bins + 1))


def number_text(value: float) -> str:
    """A number in as few digits as tell it, whole ones without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < LARGEST_WHOLE else repr(value)


def number(text: str) -> float | None:
    """The finite number that a text is, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"Expected a declaration of columns as JSON, or its file, got {path}, which cannot be read.") from error
