"""Tables: rows of category numbers, each column with a name and with the categories that may stand in it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.errors import WorkbenchError
from workbench.escaping import html_text, spreadsheet_cell
from workbench.records.base import RecordKind, Records
from workbench.records.densities import Density
from workbench.records.rules import Rule
from workbench.serialization import dumps

if TYPE_CHECKING:
    import pandas as pd

CLASS = "class"  # the heading of the labels
MOST_DECIMALS = 30
MOST_DRAWS = 30  # of a number that may not be a heap's: of a range that has no other it stays


class Column(BaseModel):
    """One column: its name and its categories, all of them declared and public.

    `edges`, of a column of numbers: the limits of the ranges that are its first categories, in order, one more than there are ranges.
    What follows the ranges stands for cells that are no number. `decimals`: how many digits a number that is drawn in a range has behind
    the point; without them none where all edges are whole, else as eight digits leave.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    categories: tuple[str, ...] = Field(min_length=1)
    edges: tuple[float, ...] = ()
    decimals: int | None = Field(default=None, ge=0, le=MOST_DECIMALS)

    @classmethod
    def of_ranges(cls, name: str, edges: Sequence[float]) -> Self:
        """A column of numbers in the ranges between `edges`: each with its lower limit, the last with its upper one too."""
        if len(edges) < 2:
            raise WorkbenchError(f"Expected at least 2 edges of {name}, got {len(edges)}.")
        ends = [")"] * (len(edges) - 2) + ["]"]
        ranges = [f"[{low:g}, {high:g}{end}" for (low, high), end in zip(pairwise(edges), ends, strict=True)]
        return cls(name=name, categories=tuple(ranges), edges=tuple(edges))

    def range_numbers(self, values: np.ndarray) -> np.ndarray:
        """In which range each number (N,) lies, int64 (N,); below or above all of them the first or the last. Needs edges, no NaN."""
        return np.searchsorted(self.edges[1:-1], values, side="right").astype(np.int64)

    @property
    def num_ranges(self) -> int:
        """How many of the categories are ranges."""
        return max(len(self.edges) - 1, 0)

    @property
    def digits(self) -> int | None:
        """How many digits a number in a range has behind the point, None for as eight digits leave."""
        return 0 if self.decimals is None and all(edge.is_integer() for edge in self.edges) else self.decimals

    @model_validator(mode="after")
    def _edges_enclose_the_categories(self) -> Self:
        if self.edges and not (1 <= self.num_ranges <= len(self.categories) and all(low < high for low, high in pairwise(self.edges))):
            raise ValueError(f"Expected 2 to {len(self.categories) + 1} rising edges of {self.name}, got {self.edges}.")
        return self


class TableKind(RecordKind):
    """Rows int64 (columns,) of category numbers."""

    noun: ClassVar[str] = "rows of a table"
    feature_label: ClassVar[str] = "one-hot"
    array_name: ClassVar[str] = "rows"
    preview_file: ClassVar[str] = "latest.csv"

    name: Literal["table"] = "table"
    columns: tuple[Column, ...] = Field(min_length=1)
    label: str = Field(default=CLASS, min_length=1, description="What the classes are called where they stand beside the columns.")
    label_place: int = Field(default=0, ge=0, description="How many columns stand before the classes where rows are written.")
    never: tuple[Rule, ...] = Field(default=(), description="Categories that stand together in no row that is drawn; classes among them.")

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        repeated = [name for name, times in Counter([self.label, *(column.name for column in self.columns)]).items() if times > 1]
        if repeated:
            raise ValueError(f"Expected columns of different names, none of them {self.label!r}, got {', '.join(repeated)} again.")
        return self

    @model_validator(mode="after")
    def _rules_name_columns(self) -> Self:
        sizes = {column.name: len(column.categories) for column in self.columns}
        for rule in self.never:
            for name, values in zip(rule.columns, rule.values, strict=True):
                if name != self.label and not (name in sizes and 0 <= min(values) <= max(values) < sizes[name]):
                    raise ValueError(f"Expected rules of columns and their categories, got {values} of {name!r}.")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """(columns,)."""
        return (len(self.columns),)

    @property
    def categories(self) -> tuple[int, ...]:
        """Number of categories of each column."""
        return tuple(len(column.categories) for column in self.columns)

    def complaint(self, records: np.ndarray) -> str:
        """Another type than int64, or a number that is no category's."""
        if records.dtype != np.int64:
            return f"Expected rows of type int64, got {records.dtype}. Convert them."
        if records.size and ((records < 0) | (records >= np.asarray(self.categories))).any():
            low, high = tuple(records.min(axis=0).tolist()), tuple(records.max(axis=0).tolist())
            return f"Expected categories from 0 and below {self.categories} per column, got {low} to {high}."
        return ""

    def rows_breaking(self, records: Records) -> list[np.ndarray]:
        """Of each rule, which rows break it, bool (N,); none breaks a rule of classes where there are no labels."""
        cells = {column.name: values for column, values in zip(self.columns, records.records.T, strict=True)}
        if records.labels is not None:
            cells[self.label] = records.labels
        known = [rule if set(rule.columns) <= cells.keys() else None for rule in self.never]
        return [np.zeros(len(records), dtype=bool) if rule is None else rule.rows_breaking(cells) for rule in known]

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Each column evenly over its categories."""
        return np.stack([generator.integers(0, size, count) for size in self.categories], axis=1)

    def features(self, records: np.ndarray) -> np.ndarray:
        """One-hot: 1 at each column's category, (N, sum of categories)."""
        if complaint := self.complaint(records):
            raise WorkbenchError(complaint)
        result = np.zeros((len(records), sum(self.categories)), dtype=np.float32)
        np.put_along_axis(result, records + np.cumsum([0, *self.categories[:-1]]), 1.0, axis=1)
        return result

    def written_columns(self, records: Records, classes: Sequence[str]) -> list[tuple[Column, np.ndarray]]:
        """Every column as rows are written, with its values int64 (N,); the class in its place if labelled."""
        pairs = list(zip(self.columns, records.records.T, strict=True))
        if classes and records.labels is not None:
            pairs.insert(self.label_place, (Column(name=self.label, categories=tuple(classes)), records.labels))
        return pairs

    def frame(self, records: Records, classes: Sequence[str]) -> "pd.DataFrame":
        """The rows by the names of columns, categories and classes, inert in a spreadsheet; the class in its place if labelled."""
        import pandas as pd

        cells = [
            (column.name, np.array(list(map(spreadsheet_cell, column.categories)), dtype=object)[values])
            for column, values in self.written_columns(records, classes)
        ]
        return pd.DataFrame({spreadsheet_cell(name): texts for name, texts in cells})

    def densities(self, records: Records) -> dict[str, Density]:
        """Of each column with ranges, what its numbers are like by the records' own shares of the ranges."""
        densities = dict[str, Density]()
        for column, values in zip(self.columns, records.records.T, strict=True):
            if column.edges:
                counts = np.bincount(values, minlength=column.num_ranges)[: column.num_ranges]
                densities[column.name] = Density.of(counts / max(int(counts.sum()), 1), np.array(column.edges))
        return densities

    def with_numbers(
        self, frame: "pd.DataFrame", records: Records, densities: Mapping[str, Density], generator: np.random.Generator
    ) -> "pd.DataFrame":
        """A `frame` of records with a number in the place of each range, drawn by the column's density, with its `digits`.

        What stands beside the ranges of such a column, as a heap or what is missing, stays as it is; no number takes its place.
        """
        for column, values in zip(self.columns, records.records.T, strict=True):
            if column.edges:
                inside = values < column.num_ranges
                texts = _numbers_in(column, densities[column.name], values[inside], generator)
                frame.loc[inside, spreadsheet_cell(column.name)] = texts
        return frame

    def preview(self, records: Records, classes: Sequence[str]) -> bytes:
        """A CSV file with a line of headings."""
        return self.frame(records, classes).to_csv(index=False).encode()

    def html(self, record: np.ndarray, text: str) -> str:
        """The categories' names between commas, and the text below them."""
        names = [column.categories[value] for column, value in zip(self.columns, record.tolist(), strict=True)]
        return f"<code>{html_text(', '.join(names))}</code><br>{text}"

    def to_arrays(self, records: np.ndarray) -> dict[str, np.ndarray]:
        """`rows` int64 (N, columns), and `columns`, their names, categories and edges as JSON."""
        return {self.array_name: records, "columns": np.array(dumps(self.columns))}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """int64 (N, columns)."""
        return np.ascontiguousarray(arrays[cls.array_name])


def _numbers_in(column: Column, density: Density, ranges: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A number in each of these ranges (N,) of a column as text, drawn again where it is that of a category beside them."""
    digits, beside = column.digits, [_short(text) for text in column.categories[column.num_ranges :]]
    texts, again = np.empty(len(ranges), dtype=object), np.arange(len(ranges))
    for _ in range(MOST_DRAWS):
        drawn = density.draw(ranges[again], generator)
        texts[again] = _number_texts(drawn, np.array(column.edges), ranges[again], digits)
        again = again[[_short(text) in beside for text in texts[again]]] if beside else again[:0]
    return texts


def _number_texts(numbers: np.ndarray, edges: np.ndarray, ranges: np.ndarray, digits: int | None) -> list[str]:
    """Numbers as texts with so many digits behind the point, the others left out, each still in its range, which has its lower edge."""
    if digits is None:
        return [f"{number:.8g}" for number in numbers.tolist()]
    scale = 10.0**digits
    cut = np.maximum(np.minimum(np.floor(numbers * scale) / scale, edges[ranges + 1] - 1 / scale), edges[ranges])
    return [f"{number:.{digits}f}" for number in cut.tolist()]


def _short(text: str) -> str:
    """A number's text without zeros at the end of what is behind the point."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
