"""A declaration made from a file's own rows, for the person who has the rows: it is private until they confirm that it is public."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from workbench.datasets.declaration import MISSING, MOST_CATEGORIES, DeclaredColumn, TableDeclaration, number
from workbench.datasets.frames import frame_rows
from workbench.datasets.ordered_words import ordered_words
from workbench.datasets.proposed_edges import FEWEST_NUMBERS, are_counts, count_ranges, suited_ranges
from workbench.datasets.row_files import text_counts, text_rows
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.records.tables import MOST_DECIMALS

if TYPE_CHECKING:
    import pandas as pd

    from workbench.datasets.frames import ArrowStream

WARNING = (
    "This proposal is made from the private rows: categories, ranges and what is missing are theirs. Change what others may not know, "
    "merge what is rare, and use round numbers; who trains with it declares all of it public."
)
DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([ T].*)?")  # with a time or without
DIGITS = 8  # of a number that is drawn in a range
FEWEST_ROWS = 5  # of a category that is proposed by its name: rarer ones may name a person
MISSING_CATEGORY, OTHER_CATEGORY = "missing", "other"


@dataclass(frozen=True)
class Proposal:
    """A declaration, and the columns that it leaves out because they name the rows or have no end of values, each with the reason."""

    declaration: TableDeclaration
    left_out: dict[str, str]


def propose(table: "Path | pd.DataFrame | ArrowStream", target: str = "", leave_out: Collection[str] = ()) -> TableDeclaration:
    """The declaration of `proposal`."""
    return proposal(table, target, leave_out).declaration


def proposal(
    table: "Path | pd.DataFrame | ArrowStream",
    target: str = "",
    leave_out: Collection[str] = (),
    person: str = "",
    rows_per_person: int = 0,
) -> Proposal:
    """Categories without rare ones, numbers in round ranges, counts each by itself; the last column that is kept is the target by default.

    `table` is a file of rows, or a frame of pandas, Polars or Arrow. What can be no column of a table, as a name or a number that tells
    every row from the others, is left out; so is the column `person`, which names who has a row, where somebody may have up to
    `rows_per_person`.
    """
    where, (header, cells) = (str(table), text_rows(table)) if isinstance(table, Path) else ("the frame", frame_rows(table))
    texts, rows = text_counts(header, cells)
    if not rows:
        raise WorkbenchError(f"Expected rows below the headings of {where}, got none. A declaration is proposed from what stands in them.")
    for name in (*leave_out, *[person] * bool(person)):
        choose(name, texts, "column")
    kept = [name for name in header if name not in leave_out and name != person]
    if target:
        choose(target, dict.fromkeys(kept), "target column")
    label, columns, left_out = target or kept[-1], list[DeclaredColumn](), dict[str, str]()
    try:
        for name in kept:
            try:
                columns.append(propose_column(name, texts[name], name == label))
            except WorkbenchError as error:
                if name == label:
                    raise
                left_out[name] = str(error)
        if len(columns) == 1 and left_out:
            raise WorkbenchError(next(iter(left_out.values())))
        whose = {"person": person, "rows_per_person": rows_per_person}
        return Proposal(TableDeclaration(columns=tuple(columns), target=label, **whose), left_out)
    except ValidationError as error:
        raise WorkbenchError(f"Expected columns of {where} that can be declared. {first_complaint(error)}") from None


def propose_column(name: str, texts: Mapping[str, int], is_target: bool = False) -> DeclaredColumn:
    """One column from how often each text stands in it; a target keeps its numbers and its rare categories as classes."""
    rows = sum(texts.values())
    there = ordered_words([text for text in texts if text.lower() not in MISSING])
    missing = MISSING_CATEGORY if len(there) < len(texts) else ""
    values = [value for text in there if (value := number(text)) is not None]
    if len(values) == len(there):
        counts = Counter[float]()
        for text, value in zip(there, values, strict=True):
            counts[value] += texts[text]
        if len(values) > FEWEST_NUMBERS:
            check_shared(name, values, counts.total())
        if len(counts) > FEWEST_NUMBERS:
            ranges = suited_ranges(counts)
            return DeclaredColumn(name=name, missing=missing, decimals=decimals_of(there, ranges.edges), **ranges._asdict())
        if not is_target and are_counts(values):
            ranges = count_ranges(counts)
            if not counts.keys() <= set(ranges.points):  # else there is no number for the ranges
                return DeclaredColumn(name=name, missing=missing, **ranges._asdict())
    if len(there) > FEWEST_NUMBERS and all(map(DATE.fullmatch, there)):
        raise WorkbenchError(
            f"Expected categories or numbers in the column {name!r}, got dates. Put what matters of them, as the year, or the days since "
            "one, into a column of numbers."
        )
    if len(there) > MOST_CATEGORIES:
        raise WorkbenchError(
            f"Expected at most {MOST_CATEGORIES} categories in the column {name!r}, got {len(there)}. Leave it out, or declare the "
            "frequent ones and a category for any other."
        )
    if len(there) > FEWEST_NUMBERS and 2 * len(there) > rows:
        raise WorkbenchError(
            f"Expected categories in the column {name!r}, got {len(there)} different texts in {rows} rows: they name the rows. Leave "
            "it out, or declare the frequent ones and a category for any other."
        )
    frequent = there if is_target else [text for text in there if texts[text] >= FEWEST_ROWS] or there
    other = OTHER_CATEGORY if len(frequent) < len(there) else ""
    return DeclaredColumn(name=name, categories=tuple(frequent) or (MISSING_CATEGORY,), missing=missing, other=other)


def decimals_of(texts: Sequence[str], edges: Sequence[float]) -> int | None:
    """The most digits behind the point that numbers have as texts, and edges; of eight digits in all, where there are more.

    None for whole numbers between whole edges.
    """
    behind = max(0, *(-int(Decimal(text).as_tuple().exponent) for text in (*texts, *(repr(edge) for edge in edges if edge % 1))))
    first = math.floor(math.log10(max(abs(edges[0]), abs(edges[-1]))))
    decimals = min(behind, max(0, DIGITS - 1 - first), MOST_DECIMALS)
    needed = max(-int(Decimal(repr(edge)).normalize().as_tuple().exponent) for edge in edges)
    return max(decimals, needed) or None if needed <= MOST_DECIMALS else None


def check_shared(name: str, values: Sequence[float], rows: int) -> None:
    """Refuse whole numbers that are different in every row, as those of customers are; measurements with decimals may be."""
    if len(set(values)) == rows and all(value.is_integer() for value in values):
        raise WorkbenchError(
            f"Expected numbers that rows share in the column {name!r}, got another whole number in each of {rows} rows: they name the "
            "rows. Leave it out, or declare edges of ranges."
        )
