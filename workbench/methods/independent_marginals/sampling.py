"""Rows of independent columns, which is post-processing of the counts."""

import numpy as np

from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.marginals import drawn, shares, sizes_of, split
from workbench.training.state import State


def sample(state: State, request: SampleRequest) -> Records:
    """Each column drawn by its shares, whatever the label is."""
    columns = split(state.tensors["one_way"].cpu().numpy(), sizes_of(state.facts))[: state.facts.dimensions]
    uniform = state.randomness.stream(request.purpose).random((request.num_samples, len(columns)))
    parts = [np.broadcast_to(shares(counts, state.facts.num_records), (request.num_samples, counts.size)) for counts in columns]
    rows = [drawn(part, chance) for part, chance in zip(parts, uniform.T, strict=True)]
    return Records(np.stack(rows, axis=1), request.label_array(state.facts.num_classes))
