"""A declaration made from a file's own rows, for the person who has the rows: it is private until they confirm that it is public."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError

from workbench.datasets.csv_table import read
from workbench.datasets.declaration import MISSING, MOST_CATEGORIES, DeclaredColumn, TableDeclaration, number
from workbench.errors import WorkbenchError, choose, first_complaint

WARNING = (
    "This proposal is made from the private rows: categories, ranges and what is missing are theirs. Change what others may not know, "
    "merge what is rare, and use round numbers; who trains with it declares all of it public."
)
FEWEST_NUMBERS = 20  # different ones, from which on a column of numbers is cut into ranges
RANGES = 5
STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 20)  # widths of a range, times a power of ten
DIGITS = range(12, 18)
FEWEST_COUNTS = 3  # different whole numbers, from which on they are counts
FEWEST_ROWS = 5  # of a category that is proposed by its name: rarer ones may name a person
MISSING_CATEGORY, OTHER_CATEGORY = "missing", "other"


def propose(path: Path, target: str = "", leave_out: Collection[str] = ()) -> TableDeclaration:
    """Categories without rare ones, numbers in round ranges, counts each by itself; the last column is the target by default."""
    header, rows = read(path)
    if not rows:
        raise WorkbenchError(f"Expected rows below the headings of {path}, got none. A declaration is proposed from what stands in them.")
    cells = dict(zip(header, zip(*rows, strict=True), strict=True))
    for name in leave_out:
        choose(name, cells, "column")
    kept = [name for name in header if name not in leave_out]
    if target:
        choose(target, dict.fromkeys(kept), "target column")
    label = target or kept[-1]
    try:
        return TableDeclaration(columns=tuple(propose_column(name, cells[name], name == label) for name in kept), target=label)
    except ValidationError as error:
        raise WorkbenchError(f"Expected columns of {path} that can be declared. {first_complaint(error)}") from None


def propose_column(name: str, cells: Sequence[str], is_target: bool = False) -> DeclaredColumn:
    """One column from its cells; a target keeps its numbers and its rare categories as classes."""
    texts = Counter(cell.strip() for cell in cells)
    there = sorted((text for text in texts if text.lower() not in MISSING), key=in_order)
    missing = MISSING_CATEGORY if len(there) < len(texts) else ""
    values = [value for text in there if (value := number(text)) is not None]
    if len(values) == len(there) > FEWEST_NUMBERS:
        return DeclaredColumn(name=name, edges=round_edges(min(values), max(values)), missing=missing)
    if not is_target and len(values) == len(there) and are_counts(values):
        return DeclaredColumn(name=name, edges=count_edges(values), missing=missing)
    if len(there) > MOST_CATEGORIES:
        raise WorkbenchError(
            f"Expected at most {MOST_CATEGORIES} categories in the column {name!r}, got {len(there)}. Leave it out, or declare the "
            "frequent ones and a category for any other."
        )
    if len(there) > FEWEST_NUMBERS and 2 * len(there) > len(cells):
        raise WorkbenchError(
            f"Expected categories in the column {name!r}, got {len(there)} different texts in {len(cells)} rows: they name the rows. Leave "
            "it out, or declare the frequent ones and a category for any other."
        )
    frequent = there if is_target else [text for text in there if texts[text] >= FEWEST_ROWS] or there
    other = OTHER_CATEGORY if len(frequent) < len(there) else ""
    return DeclaredColumn(name=name, categories=tuple(frequent) or (MISSING_CATEGORY,), missing=missing, other=other)


def in_order(text: str) -> tuple[float, str]:
    """What numbers are ordered by, texts after them by the alphabet."""
    value = number(text)
    return (math.inf if value is None else value, text)


def are_counts(values: Sequence[float]) -> bool:
    """Whether these are whole numbers of 0 or more, three different ones at least: two are rather a yes and a no."""
    return len(set(values)) >= FEWEST_COUNTS and all(value >= 0 and value.is_integer() for value in values)


def count_edges(values: Sequence[float]) -> tuple[float, ...]:
    """Edges that give each count from the least to the greatest a range of its own, or five round ranges where these are many."""
    low, high = int(min(values)), int(max(values))
    if high - low >= FEWEST_NUMBERS:
        return round_edges(low, high)
    return tuple(float(edge) for edge in range(low, high + 2))


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """The edges of five ranges of equal width from at most `low` to at least `high`, whole multiples of one of STEPS.

    Told by as few digits as tell them apart, DIGITS at least: of large numbers that lie close, the last ones differ. Refuses numbers
    that no float lies between, and some near the largest float.
    """
    width = high / RANGES - low / RANGES  # the difference itself may be beyond all floats
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in STEPS if math.floor(low / (factor * power)) + RANGES >= high / (factor * power))
    first = math.floor(low / step)
    told = (tuple(float(f"{(first + place) * step:.{digits}g}") for place in range(RANGES + 1)) for digits in DIGITS)
    for edges in told:
        if len(set(edges)) > RANGES and -math.inf < edges[0] <= low and high <= edges[-1] < math.inf:
            return edges
    raise WorkbenchError("Expected numbers that round edges tell apart, got some that lie too close or too far out. Leave the column out.")
