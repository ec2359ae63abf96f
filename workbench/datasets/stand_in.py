"""Records that stand in for a dataset whose records are not to be touched: of its schema and number, drawn by a seed, nobody's.

Only public facts shape them. In an image of a class stands one of two blots that only this class has, each time somewhat other, in any
colour before a faint ground. Rows of a table have columns that lean on the class and on what the seed alone says. What can be learnt
from them under a plan is therefore a sign of what the plan leaves to learn, and no forecast: other records are easier or harder.
"""

from dataclasses import replace

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.resize import axis_weights
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records, TableKind

HELD_OUT = 1 / 6
LEAST_HELD_OUT = 200
BLOTS = 2  # of each class
BLOT_CELLS, GROUND_CELLS = 5, 3  # a blot and a ground are so many random values a side, drawn out
EDGE = 6.0  # how steep a blot's edge is
VARIED = 0.8  # how far each image's blot is from its class's: standard deviation of the cells' values, those of the class's being 1
GROUND = 0.15  # of full intensity, at most
BLOCK = 1024  # images drawn at once
KINDS_OF_ROWS = 3  # beside the classes: what else makes columns go together
LEANING = 1.5  # standard deviation of the logits of a column's categories, by class and by kind of row
MOST_TRIES = 50  # of rows that the rules between columns allow


def stand_in(facts: DatasetFacts, seed: int = 0) -> Dataset:
    """A dataset of these facts whose records are drawn, with a sixth as many, 200 at least, held out. Classes are as good as even.

    Raises WorkbenchError for rules between columns that hardly a row keeps.
    """
    held_out = max(LEAST_HELD_OUT, round(HELD_OUT * facts.num_records), facts.num_classes)
    number = facts.num_records + held_out
    records = _rows(facts, facts.kind, number, seed) if isinstance(facts.kind, TableKind) else _images(facts, number, seed)
    return Dataset(facts, records.take(slice(facts.num_records)), records.take(slice(facts.num_records, None)))


def _images(facts: DatasetFacts, number: int, seed: int) -> Records:
    generator = np.random.default_rng([seed, number])
    channels, height, width = ImageKind.of(facts.kind).size
    classes = max(facts.num_classes, 1)
    labels = generator.permutation(np.arange(number, dtype=np.int64) % classes)
    blots = np.random.default_rng([seed]).normal(size=(classes, BLOTS, BLOT_CELLS, BLOT_CELLS))
    images = np.empty((number, channels, height, width), dtype=np.uint8)
    for block in np.array_split(np.arange(number), -(-number // BLOCK)):
        own = blots[labels[block], generator.integers(BLOTS, size=len(block))]
        own = own + VARIED * generator.normal(size=own.shape)
        blot = 1 / (1 + np.exp(-EDGE * _drawn_out(own, height, width)[:, None]))
        cells = generator.uniform(0, GROUND, size=(len(block) * channels, GROUND_CELLS, GROUND_CELLS))
        ground = _drawn_out(cells, height, width).reshape(len(block), channels, height, width)
        colour = generator.uniform(0.5, 1.0, size=(len(block), channels, 1, 1))
        images[block] = np.rint(255 * (ground + blot * (colour - ground)))
    attributes = _attributes(facts, number, generator)
    for band, (name, values) in zip(np.array_split(np.arange(height), max(len(attributes), 1)), facts.attributes.items(), strict=False):
        dimmed = 1 - attributes[name] / (2 * max(len(values) - 1, 1))  # each attribute has a band of rows
        images[:, :, band] = np.rint(images[:, :, band] * dimmed[:, None, None, None])
    return Records(images, labels if facts.classes else None, attributes)


def _attributes(facts: DatasetFacts, number: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of each attribute (N,), even ones."""
    return {name: generator.integers(0, len(values), number) for name, values in facts.attributes.items()}


def _drawn_out(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """Random values (N, S, S) as smooth fields (N, height, width)."""
    side = cells.shape[1]
    return np.einsum("hs,nst,wt->nhw", axis_weights(side, height), cells, axis_weights(side, width))


def _rows(facts: DatasetFacts, kind: TableKind, number: int, seed: int) -> Records:
    generator = np.random.default_rng([seed, number])
    classes = max(facts.num_classes, 1)
    leanings = [  # of each column: logits of its categories by class and by kind of row
        (generator.normal(0, LEANING, (classes, size)), generator.normal(0, LEANING, (KINDS_OF_ROWS, size))) for size in kind.categories
    ]
    rows, labels = np.zeros((number, len(kind.columns)), dtype=np.int64), np.zeros(number, dtype=np.int64)
    missing = np.arange(number)
    for _ in range(MOST_TRIES):
        labels[missing] = generator.integers(0, classes, len(missing))
        kinds = generator.integers(0, KINDS_OF_ROWS, len(missing))
        for place, (by_class, by_kind) in enumerate(leanings):
            logits = by_class[labels[missing]] + by_kind[kinds] + generator.gumbel(size=(len(missing), by_class.shape[1]))
            rows[missing, place] = logits.argmax(1)
        drawn = Records(rows, labels if facts.classes else None)
        missing = np.flatnonzero(np.logical_or.reduce([*kind.rows_breaking(drawn), np.zeros(number, dtype=bool)]))
        if not len(missing):
            return replace(drawn, attributes=_attributes(facts, number, generator))
    raise WorkbenchError(
        f"Expected rules between the columns of {facts.name} that drawn rows keep; {len(missing)} of {number} broke one {MOST_TRIES} times."
    )
