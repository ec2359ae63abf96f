"""A small table of categories."""

from typing import Any

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import Records, TableKind


def toy_table(num_records: int = 240) -> Dataset:
    """Two classes of rows in three columns of 3, 2 and 4 categories; the class, and at times chance (an attribute), shift the first."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, num_records + 60)
    shifted = (draw.random(len(labels)) < 0.2).astype(np.int64)
    rows = np.stack([(labels + shifted) % 3, draw.integers(0, 2, len(labels)), draw.integers(0, 4, len(labels))], axis=1)
    named: dict[str, Any] = {"classes": ("no", "yes"), "attributes": {"shifted": ("no", "yes")}}
    facts = DatasetFacts(name="toy-table", kind=TableKind.of_sizes((3, 2, 4)), num_records=num_records, **named)
    records = Records(rows.astype(np.int64), labels.astype(np.int64), {"shifted": shifted})
    return Dataset(facts, records.take(slice(0, num_records)), records.take(slice(num_records, None)))
