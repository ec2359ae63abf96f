"""A table's columns as a model sees them: the table's own, and the class as one more where there are classes."""

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.models.sample_request import SampleRequest
from workbench.records import Records, TableKind


def sizes(facts: DatasetFacts) -> tuple[int, ...]:
    """Categories of each column of the model."""
    return (*TableKind.of(facts.kind).categories, *([facts.num_classes] if facts.classes else []))


def rows(facts: DatasetFacts, data: Records) -> np.ndarray:
    """The columns of every record, the class the last, zeros for null records: int64 (N, n), a copy."""
    parts = [data.records] if data.labels is None or not facts.classes else [data.records, data.labels[:, None]]
    values = np.concatenate(parts, axis=1)
    values[~data.mask] = 0
    return values


def records(facts: DatasetFacts, drawn: np.ndarray, request: SampleRequest) -> Records:
    """The model's rows as records: the class apart, and left out where no labels are wanted."""
    if not facts.classes:
        return Records(drawn)
    return Records(np.ascontiguousarray(drawn[:, :-1]), drawn[:, -1].copy() if request.labelled else None)
