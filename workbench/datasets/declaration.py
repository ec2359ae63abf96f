"""What the user declares public of a table of their own: which columns there are, and what may stand in each.

All that a plan depends on is here and none of it is found in the records when they are trained on. A cell that is not declared is an
error, unless its column has a category for any other text or for what is missing: so rare categories are merged by declaration.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.datasets.naming import check_words
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.records import Column, TableKind
from workbench.records.tables import CLASS

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})  # cells without a value, in small letters
MOST_CATEGORIES = 1_000


class DeclaredColumn(BaseModel):
    """One column: its `categories`, or the `edges` of its ranges if it has numbers.

    `other` is the category of every other text, `missing` that of an empty cell; either may be one of the categories. Without them
    such cells are refused. Numbers beyond the edges count in the outermost range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    categories: tuple[str, ...] = Field(default=(), max_length=MOST_CATEGORIES)
    edges: tuple[float, ...] = Field(default=(), max_length=MOST_CATEGORIES)
    other: str = ""
    missing: str = ""

    @model_validator(mode="after")
    def _has_either(self) -> Self:
        if bool(self.categories) == bool(self.edges):
            raise ValueError(f"Expected categories of {self.name}, or edges of its ranges, got {'both' if self.edges else 'none'}.")
        check_words([self.name], "columns' names")
        check_words(self.column.categories, f"categories of {self.name}")
        return self

    @property
    def column(self) -> Column:
        """The column as records have it: categories or ranges, then those of other texts and of what is missing."""
        ranges = Column.of_ranges(self.name, self.edges) if self.edges else None
        own = ranges.categories if ranges else self.categories
        added = tuple(dict.fromkeys(text for text in (self.other, self.missing) if text and text not in own))
        return Column(name=self.name, categories=own + added, edges=self.edges)

    def numbered(self, cells: Sequence[str], where: str) -> np.ndarray:
        """The number of each cell's category, int64 (N,). Refuses what is not declared by its line, and never tells the cell."""
        texts, inverse = np.unique(np.array([cell.strip() for cell in cells], dtype=object), return_inverse=True)
        numbers = np.array([self._number(text) for text in texts], dtype=np.int64)[inverse]
        if (numbers < 0).any():
            line = int(np.argmax(numbers < 0)) + 2
            raise WorkbenchError(
                f"Expected declared values in the column {self.name!r} of {where}, got another in line {line}. Declare it, or a category "
                "for other or missing values."
            )
        return numbers

    def _number(self, text: str) -> int:
        """The category's number, or -1 for what is not declared."""
        names = self.column.categories
        if text in names:  # a range, or what is missing, as samples have it too
            return names.index(text)
        if text.lower() in MISSING:
            return names.index(self.missing) if self.missing else -1
        value = number(text) if self.edges else None
        if value is not None:
            return int(np.searchsorted(self.edges[1:-1], value, side="right"))
        return names.index(self.other) if self.other else -1


class TableDeclaration(BaseModel):
    """The columns that are read, the others being left out, and which of them is the class (`target`; none if empty)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[DeclaredColumn, ...] = Field(min_length=1)
    target: str = ""

    @model_validator(mode="after")
    def _names_its_columns(self) -> Self:
        names = [column.name for column in self.columns]
        check_words(names, "columns' names")
        if self.target:
            choose(self.target, dict.fromkeys(names), "target column")
        if names == [self.target]:
            raise ValueError(f"Expected columns beside the target {self.target!r}, got none.")
        return self

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
        return TableKind(columns=tuple(column.column for column in self.features), label=self.target or CLASS, label_place=place)

    def in_order(self, header: Sequence[str]) -> Self:
        """The same with its columns in the order of a file's headings; those that the file lacks are last."""
        places = {name: place for place, name in enumerate(header)}
        return self.model_copy(update={"columns": tuple(sorted(self.columns, key=lambda one: places.get(one.name, len(places))))})

    @property
    def classes(self) -> tuple[str, ...]:
        """The target's categories; none without a target."""
        return self.label.column.categories if self.label else ()


def even_edges(low: float, high: float, bins: int) -> tuple[float, ...]:
    """The edges of so many bins of equal width, rounded where binary fractions are not."""
    return tuple(float(f"{low + (high - low) * place / bins:.12g}") for place in range(bins + 1))


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
