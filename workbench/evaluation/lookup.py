"""A person's own picture, or what is known of their row, looked for among training and held-out records: which of these is it?

Everything here looks at private records: none of it may leave the room.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple, get_args

import numpy as np

from workbench.datasets.base import Dataset
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.datasets.folder import UnusableError, image_pixels
from workbench.datasets.pictures import picture
from workbench.datasets.resize import check_shape, resize
from workbench.errors import WorkbenchError, choose
from workbench.evaluation.nearest import nearest
from workbench.evaluation.nearest_samples import Side
from workbench.models.table_columns import rows
from workbench.records import ImageKind, Records, TableKind

MOST = 5
AT_ONCE = 4_096  # images whose distances are taken together
PRIVATE = "Whether somebody is among the records is private, and so is what is found here. No bound covers it."


class Match(NamedTuple):
    """A record by its side and place. `distance` is 0 for an equal one.

    Of pictures it is Euclidean, of pixels over 255; of rows it is the number of known columns in which they differ.
    """

    side: Side
    record: int
    distance: float


@dataclass(frozen=True)
class Matches:
    """The records that are nearest to what was looked for, nearest first, and how many are equal to it."""

    nearest: tuple[Match, ...]
    equal: int


def like_picture(dataset: Dataset, content: bytes, most: int = MOST) -> Matches:
    """The images nearest to a picture file, read in both ways that files become records: stretched, and cut around its centre.

    Raises WorkbenchError for a table, and for what is no picture.
    """
    kind = dataset.facts.kind
    if not isinstance(kind, ImageKind):
        raise WorkbenchError("Expected images to look for a picture in, got rows of a table. Say what is known of the row, by column.")
    shape = check_shape(dataset.facts.shape)
    try:
        stretched = resize(image_pixels(BytesIO(content))[None], shape)
        cut = picture(BytesIO(content), shape)[None]
    except UnusableError as error:
        raise WorkbenchError(f"Expected a picture, grey or in colour without transparency: the file {error}. Save it as one.") from error
    readings = kind.features(np.concatenate([stretched, cut]))

    def distances(records: Records) -> np.ndarray:
        """Of each record from the nearer reading, float64 (N,)."""
        parts = [records.records[start : start + AT_ONCE] for start in range(0, len(records), AT_ONCE)]
        return np.concatenate([nearest(kind.features(part), readings)[1][:, 0] for part in parts])

    return _nearest(dataset, distances, most)


def declared_columns(dataset: Dataset) -> tuple[DeclaredColumn, ...]:
    """The columns of a table as something may be known of them, the class the last; refuses images."""
    if not isinstance(dataset.facts.kind, TableKind):
        raise WorkbenchError("Expected rows of a table to look for what is known, got images. Give a picture.")
    return TableDeclaration.of_kind(dataset.facts.kind, dataset.facts.classes).columns


def like_row(dataset: Dataset, known: Mapping[str, str], most: int = MOST) -> Matches:
    """The rows that differ least from what is known, column by column: a category, or a number where a column has ranges.

    Raises WorkbenchError for images, for an unknown column, and for a value that its column does not have.
    """
    if not known:
        raise WorkbenchError("Expected at least one known column, got none.")
    declared = declared_columns(dataset)
    places = {column.name: place for place, column in enumerate(declared)}
    columns = [choose(name, places, "column") for name in known]
    values = [_place_of(text, declared[place]) for place, text in zip(columns, known.values(), strict=True)]

    def distances(records: Records) -> np.ndarray:
        """In how many known columns each row differs, (N,)."""
        return (rows(dataset.facts, records)[:, columns] != values).sum(axis=1)

    return _nearest(dataset, distances, most)


def _place_of(text: str, column: DeclaredColumn) -> int:
    """The number of the category that a text is, or in whose range it lies."""
    try:
        return int(column.category_numbers([text], "what is known")[0])
    except WorkbenchError:  # which speaks of a file whose cells are private; here the reader has typed it
        categories = {name: place for place, name in enumerate(column.column.categories)}
        return choose(text, categories, f"value of {column.name}")


def _nearest(dataset: Dataset, distances: Callable[[Records], np.ndarray], most: int) -> Matches:
    """Of both sides, training records first where two are as near; null records are nobody's."""
    matches: list[Match] = []
    equal = 0
    for side, records in zip(get_args(Side), (dataset.train, dataset.held_out), strict=True):
        if len(records):
            of_each = np.where(records.mask, distances(records), np.inf)
            equal += int((of_each == 0).sum())
            matches += [Match(side, int(place), float(of_each[place])) for place in np.argsort(of_each, kind="stable")[:most]]
    matches.sort(key=lambda match: match.distance)
    return Matches(tuple(match for match in matches[:most] if np.isfinite(match.distance)), equal)
