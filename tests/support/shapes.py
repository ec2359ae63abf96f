"""Images that no public data set of ours looks like."""

from collections.abc import Callable

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import ImageKind, Records

COLOURS = ((220, 20, 20), (20, 200, 20), (20, 20, 220))


def coloured_shapes(count: int = 400, side: int = 16) -> Dataset:
    """Red circles, green squares and blue stripes, of drawn places and sizes; a sixth held out."""
    return split(drawn(count, side, np.random.default_rng(0), lambda label, _: np.array(COLOURS[label])), count - count // 6, side)


def shapes(count: int = 400, held_out: int = 2_000, side: int = 16, seed: int = 0) -> Dataset:
    """Circles, squares and stripes of drawn places and sizes, each of any colour at random: the shape alone is the class."""
    records = drawn(count + held_out, side, np.random.default_rng(seed), lambda _, draw: draw.integers(0, 256, 3))
    return split(records, count, side)


def drawn(count: int, side: int, draw: np.random.Generator, colour: Callable[[int, np.random.Generator], np.ndarray]) -> Records:
    """`count` shapes on black, in classes of equal size."""
    labels = draw.permutation(np.arange(count) % 3)
    y, x = np.mgrid[:side, :side]
    images = np.zeros((count, 3, side, side), np.uint8)
    for image, label in zip(images, labels, strict=True):
        (column, row), radius = draw.uniform(6, 10, 2), draw.uniform(3, 6)
        circle = (x - column) ** 2 + (y - row) ** 2 < radius**2
        square = (abs(x - column) < radius) & (abs(y - row) < radius)
        stripes = (y + int(row)) // 2 % 2 == 0
        image[:, (circle, square, stripes)[label]] = colour(int(label), draw)[:, None]
    return Records(images, labels.astype(np.int64))


def split(records: Records, count: int, side: int) -> Dataset:
    """The first `count` records to train on, the others held out."""
    facts = DatasetFacts(name="shapes", kind=ImageKind(size=(3, side, side)), num_records=count, classes=("circle", "square", "stripes"))
    return Dataset(facts, records.take(slice(count)), records.take(slice(count, None)))


def folder_of_arrays(dataset: Dataset) -> dict[str, np.ndarray]:
    """Training and held-out records as the arrays of a file of one's own."""
    arrays = {"classes": np.array(dataset.facts.classes)}
    for prefix, records in (("", dataset.train), ("held_out_", dataset.held_out)):
        assert records.labels is not None
        arrays |= {f"{prefix}images": records.records.transpose(0, 2, 3, 1), f"{prefix}labels": records.labels}
    return arrays
