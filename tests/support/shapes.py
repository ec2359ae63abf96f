"""Images that no public data set of ours looks like."""

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import ImageKind, Records

COLOURS = ((220, 20, 20), (20, 200, 20), (20, 20, 220))


def coloured_shapes(count: int = 400, side: int = 16) -> Dataset:
    """Red circles, green squares and blue stripes, of drawn places and sizes; a sixth held out."""
    draw = np.random.default_rng(0)
    labels = draw.permutation(np.arange(count) % 3)
    y, x = np.mgrid[:side, :side]
    images = np.zeros((count, 3, side, side), np.uint8)
    for image, label in zip(images, labels, strict=True):
        (column, row), radius = draw.uniform(6, 10, 2), draw.uniform(3, 6)
        circle = (x - column) ** 2 + (y - row) ** 2 < radius**2
        square = (abs(x - column) < radius) & (abs(y - row) < radius)
        stripes = (y + int(row)) // 2 % 2 == 0
        image[:, (circle, square, stripes)[label]] = np.array(COLOURS[label])[:, None]
    facts = DatasetFacts(
        name="shapes", kind=ImageKind(size=(3, side, side)), num_records=count - count // 6, classes=("circle", "square", "stripes")
    )
    records = Records(images, labels.astype(np.int64))
    return Dataset(facts, records.take(slice(facts.num_records)), records.take(slice(facts.num_records, None)))


def folder_of_arrays(dataset: Dataset) -> dict[str, np.ndarray]:
    """All records as the arrays of a file of one's own."""
    records = dataset.train.followed_by(dataset.held_out)
    assert records.labels is not None
    return {"images": records.records.transpose(0, 2, 3, 1), "labels": records.labels, "classes": np.array(dataset.facts.classes)}
