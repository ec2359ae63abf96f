"""A small table of categories."""

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import Records, TableKind


def toy_table(num_records: int = 240) -> Dataset:
    """Two classes of rows in three columns of 3, 2 and 4 categories; the class shifts the first column."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, num_records + 60)
    rows = np.stack(
        [(labels + (draw.random(len(labels)) < 0.2)) % 3, draw.integers(0, 2, len(labels)), draw.integers(0, 4, len(labels))], axis=1
    )
    facts = DatasetFacts(name="toy-table", kind=TableKind.of_sizes((3, 2, 4)), num_records=num_records, classes=("no", "yes"))
    records = Records(rows.astype(np.int64), labels.astype(np.int64))
    return Dataset(facts, records.take(slice(0, num_records)), records.take(slice(num_records, None)))
