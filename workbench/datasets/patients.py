"""`patients`: a drawn table of people that there are not, with a few planted outliers; `patients-large`: more rows, more columns.

How ill somebody is (a normal number) moves the class and every column, so that columns go together; each is cut where its categories
get the shares declared here, which are unequal in number and in size. One row in a hundred is an outlier: it has in every column a
category of the rarer half, whatever its others are, and no two of a split are alike. The attribute `planted` says which: who looks
for the most exposed records should find them.
"""

from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.records import Column, Records, TableKind
from workbench.workspace import Workspace

VERSION = 1  # of the drawings
COLUMNS: dict[str, dict[str, int]] = {  # categories by severity, each with its share in percent
    "pressure": {"normal": 70, "raised": 20, "high": 7, "very high": 3},
    "smoker": {"never": 65, "former": 25, "now": 10},
    "age": {"18-29": 6, "30-39": 10, "40-49": 16, "50-59": 40, "60-69": 18, "70-79": 7, "80 or more": 3},
    "sugar": {"normal": 88, "raised": 12},
    "cholesterol": {"normal": 66, "raised": 24, "high": 10},
    "visits": {"none": 4, "1": 12, "2": 60, "3": 14, "4 or 5": 6, "6 or more": 4},
    "pulse": {"slow": 5, "calm": 18, "normal": 62, "fast": 11, "racing": 4},
    "pain": {"none": 68, "mild": 20, "strong": 8, "severe": 4},
    "ward": {"day": 50, "general": 22, "heart": 10, "lung": 8, "stroke": 6, "intensive": 4},
    "weight": {"under": 5, "normal": 60, "over": 24, "obese": 8, "very obese": 3},
    "exercise": {"daily": 12, "weekly": 62, "seldom": 19, "never": 7},
    "sleep": {"long": 8, "normal": 66, "short": 20, "very short": 6},
    "oxygen": {"normal": 80, "low": 14, "very low": 6},
    "stay": {"none": 45, "1 day": 25, "2 days": 12, "3 to 6 days": 10, "1 or 2 weeks": 5, "longer": 3},
    "aid": {"no": 90, "yes": 10},
}
CLASSES = ("well", "ill")
ATTRIBUTES = {"planted": ("no", "yes")}
LOADING = 0.97  # correlation of illness with what a column is cut from
PLANTED_SHARE = 0.01
HELD_OUT_SHARE = 0.25
FEWEST = 100


@dataclass(frozen=True)
class Form:
    """A drawn table: what it is called, how many of `COLUMNS` it has, and how many rows."""

    name: str
    num_columns: int
    num_records: int


PATIENTS = Form("patients", 8, 2_000)
LARGE = Form("patients-large", len(COLUMNS), 50_000)


def facts(form: Form, num_records: int | None = None) -> DatasetFacts:
    """The facts about a table of this form and number of rows; nothing is drawn."""
    count = form.num_records if num_records is None else num_records
    if count < FEWEST:
        raise WorkbenchError(f"Expected at least {FEWEST} rows of {form.name}, so that one can be an outlier, got {count}.")
    columns = list(COLUMNS.items())[: form.num_columns]
    kind = TableKind(columns=tuple(Column(name=name, categories=tuple(shares)) for name, shares in columns))
    return DatasetFacts(name=form.name, kind=kind, num_records=count, classes=CLASSES, attributes=ATTRIBUTES)


def load(
    form: Form, _workspace: Workspace | None = None, shape: tuple[int, ...] | None = None, num_records: int | None = None, seed: int = 0
) -> Dataset:
    """Rows drawn by `seed`, and a quarter as many again held out; `shape`, if given, has to be their own."""
    known = facts(form, num_records)
    if shape not in (None, known.shape):
        raise WorkbenchError(f"Expected {form.name} with its {form.num_columns} columns, got the shape {shape}. Leave the shape out.")
    held_out = max(FEWEST, round(known.num_records * HELD_OUT_SHARE))
    rng = np.random.default_rng([VERSION, seed, form.num_columns, known.num_records])
    return Dataset(known, draw(form, known.num_records, rng), draw(form, held_out, rng))


def draw(form: Form, count: int, rng: np.random.Generator) -> Records:
    """`count` rows of which every hundredth, in places drawn too, is an outlier."""
    shares = [np.array(list(column.values())) / 100 for column in list(COLUMNS.values())[: form.num_columns]]
    illness = rng.normal(size=count)
    rows = np.stack([category_of(LOADING * illness + np.sqrt(1 - LOADING**2) * rng.normal(size=count), part) for part in shares], axis=1)
    labels = (illness + 0.5 * rng.normal(size=count) > 0).astype(np.int64)
    places = rng.permutation(count)[: int(count * PLANTED_SHARE)]
    rows[places] = outliers(shares, len(places), rng)
    planted = np.zeros(count, dtype=np.int64)
    planted[places] = 1
    return Records(rows, labels, {"planted": planted})


def category_of(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The category, int64 (N,), of standard normal `values` where each has its share, in order."""
    from scipy.special import ndtri

    return np.searchsorted(ndtri(np.cumsum(shares)[:-1]), values).astype(np.int64)


def outliers(shares: list[np.ndarray], count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows int64 (count, columns) of categories of the rarer halves, no two alike."""
    rarer = [np.argsort(part, kind="stable")[: (len(part) + 1) // 2] for part in shares]
    sizes = tuple(map(len, rarer))
    numbers = rng.choice(int(np.prod(sizes)), count, replace=False)
    return np.stack([own[place] for own, place in zip(rarer, np.unravel_index(numbers, sizes), strict=True)], axis=1)
