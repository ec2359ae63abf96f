"""`breast-cancer`: 569 tumours, ten measures of the cell nuclei of each and whether it is malignant, which scikit-learn ships.

Of the three values that the table has of each measure (mean, standard error, worst) the worst is taken, the mean over the three
largest nuclei: these ten columns tell malignant from benign as well as all thirty do, and each column more costs a private method.
Every column is cut into five ranges of equal width. Their limits are round numbers declared here, from what each measure is
(`RANGES`), never read off the records; what lies outside counts in the outermost range. The split is by position and seed 0 alone.

`breast-cancer-fine` has fifty such ranges in every column, for methods that release edges of their own among them.

Which ten columns, and that five ranges are enough, was chosen knowing this published table: a guarantee starts after that choice.
"""

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.splits import position_split
from workbench.records import Column, Records, TableKind

NUM_TRAIN, NUM_HELD_OUT = 400, 169  # accuracies near .9 are known to some five points on so many
NUM_RANGES = 5  # of each column: four lose accuracy without privacy, more spread 400 records thinner
NUM_FINE_RANGES = 50  # where a method finds its own among them
RANGES: dict[str, tuple[float, float]] = {
    "worst radius": (0, 40),  # in the units of the pictures, 40 a nucleus that fills them
    "worst texture": (0, 50),  # standard deviation of grey levels: a fifth of the 256 that there are
    "worst perimeter": (0, 250),  # a circle's of radius 40: 251
    "worst area": (0, 5_000),  # a circle's of radius 40: 5 027
    "worst smoothness": (0, 0.25),  # how far a radius departs from its neighbours', of the radius: a quarter
    "worst compactness": (0, 1),  # 0 a circle's, 1 twice as much contour squared on the same area
    "worst concavity": (0, 1),  # depth of the dents of the contour: 0 none
    "worst concave points": (0, 0.3),  # share of the contour that is dented
    "worst symmetry": (0, 0.6),  # difference of the halves, of the whole: 0 for equal halves
    "worst fractal dimension": (0, 0.2),  # of the contour above 1: 0 for a smooth one
}
WORST = slice(20, 30)  # their columns in the bundled table, after ten means and ten standard errors
CLASSES = ("malignant", "benign")


def edges(low: float, high: float, num_ranges: int = NUM_RANGES) -> tuple[float, ...]:
    """The limits of `num_ranges` ranges of equal width, rounded where binary fractions are not."""
    return tuple(round(low + (high - low) * place / num_ranges, 6) for place in range(num_ranges + 1))


def declared_facts(name: str, num_ranges: int) -> DatasetFacts:
    """The facts with every column in so many ranges."""
    columns = tuple(Column.of_ranges(column, edges(*limits, num_ranges)) for column, limits in RANGES.items())
    return DatasetFacts(name=name, kind=TableKind(columns=columns), num_records=NUM_TRAIN, classes=CLASSES)


FACTS = declared_facts("breast-cancer", NUM_RANGES)
FINE = declared_facts("breast-cancer-fine", NUM_FINE_RANGES)


def load(known: DatasetFacts = FACTS) -> Dataset:
    """All records, 400 to train on and 169 held out."""
    from sklearn.datasets import load_breast_cancer

    values, labels = (np.asarray(part) for part in load_breast_cancer(return_X_y=True))
    columns = TableKind.of(known.kind).columns
    rows = [column.range_numbers(measured) for column, measured in zip(columns, values[:, WORST].T, strict=True)]
    records = Records(np.stack(rows, axis=1), labels.astype(np.int64))
    train, held_out = position_split(len(records), 0, NUM_HELD_OUT / len(records))
    return Dataset(known, records.take(train), records.take(held_out))
