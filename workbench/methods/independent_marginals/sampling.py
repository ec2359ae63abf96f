"""Rows of independent columns, which is post-processing of the counts."""

import numpy as np

from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import drawn, shares, sizes_of, split
from workbench.training.state import State


def sample(state: State, request: SampleRequest) -> Records:
    """Each column drawn by its shares whatever the others are, the label too where none is asked for."""
    columns = split(state.tensors["one_way"].cpu().numpy(), sizes_of(state.facts))
    uniform = state.randomness.stream(request.purpose).random((request.num_samples, len(columns)))
    parts = [np.broadcast_to(shares(counts, state.facts.num_records), (request.num_samples, counts.size)) for counts in columns]
    rows = np.stack([drawn(part, chance) for part, chance in zip(parts, uniform.T, strict=True)], axis=1)
    if (labels := request.asked_labels(state.facts.num_classes)) is not None:
        rows[:, -1] = labels
    return records(state.facts, rows, request)
