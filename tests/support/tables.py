"""A small table of categories."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import Column, Records, TableKind


def unnamed_columns(sizes: Sequence[int]) -> TableKind:
    """A table of columns "column 1" and so on, whose categories are numbers."""
    return TableKind(columns=tuple(Column(name=f"column {i}", categories=tuple(map(str, range(n)))) for i, n in enumerate(sizes, 1)))


def toy_table(num_records: int = 240) -> Dataset:
    """Two classes of rows in three columns of 3, 2 and 4 categories; the class, and at times chance (an attribute), shift the first."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, num_records + 60)
    shifted = (draw.random(len(labels)) < 0.2).astype(np.int64)
    rows = np.stack([(labels + shifted) % 3, draw.integers(0, 2, len(labels)), draw.integers(0, 4, len(labels))], axis=1)
    named: dict[str, Any] = {"classes": ("no", "yes"), "attributes": {"shifted": ("no", "yes")}}
    facts = DatasetFacts(name="toy-table", kind=unnamed_columns((3, 2, 4)), num_records=num_records, **named)
    records = Records(rows.astype(np.int64), labels.astype(np.int64), {"shifted": shifted})
    return Dataset(facts, records.take(slice(0, num_records)), records.take(slice(num_records, None)))


def uneven_table(folder: Path, num_rows: int = 600) -> Path:
    """A CSV file of one's own with its declaration beside it: 24 % of the rows are of the class `>50K`, the last of four columns."""
    draw = np.random.default_rng(0)
    rich = np.arange(num_rows) % 25 < 6
    columns = {"hours": draw.integers(0, 3, num_rows), "sex": draw.integers(0, 2, num_rows), "degree": draw.integers(0, 4, num_rows)}
    lines = ["hours,sex,degree,income"]
    lines += [f"{a},{b},{c},{'>50K' if is_rich else '<=50K'}" for a, b, c, is_rich in zip(*columns.values(), rich, strict=True)]
    path = folder / "uneven.csv"
    path.write_text("\n".join(lines) + "\n")
    declared = [{"name": name, "categories": [str(value) for value in np.unique(cells)]} for name, cells in columns.items()]
    declared.append({"name": "income", "categories": ["<=50K", ">50K"]})
    path.with_suffix(".declared.json").write_text(json.dumps({"columns": declared, "target": "income"}))
    return path


def toy_people(num_records: int = 120) -> Dataset:
    """Ages in 16 ranges, a tenth of them missing, hours in 8; six cities and five jobs, in most of which hardly anybody is."""
    draw = np.random.default_rng(0)
    ages = np.where(draw.random(num_records + 30) < 0.1, 16, draw.binomial(15, 0.3, num_records + 30))
    cities = np.where(draw.random(len(ages)) < 0.9, draw.choice([1, 4], len(ages)), draw.integers(0, 6, len(ages)))
    hours, jobs = draw.binomial(7, 0.5, len(ages)), np.where(draw.random(len(ages)) < 0.9, 2, draw.integers(0, 5, len(ages)))
    ranges = Column.of_ranges("age", range(0, 85, 5))
    age = ranges.model_copy(update={"categories": (*ranges.categories, "missing")})
    city, job = Column(name="city", categories=tuple("abcdef")), Column(name="job", categories=tuple("ghijk"))
    kind = TableKind(columns=(age, city, Column.of_ranges("hours", range(0, 45, 5)), job))
    facts = DatasetFacts(name="toy-people", kind=kind, num_records=num_records, classes=("no", "yes"))
    records = Records(np.stack([ages, cities, hours, jobs], axis=1).astype(np.int64), draw.integers(0, 2, len(ages)))
    return Dataset(facts, records.take(slice(num_records)), records.take(slice(num_records, None)))
