"""Rows drawn from those that are left, which is post-processing of the votes."""

import numpy as np

from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.rows import columns_of, varied
from workbench.models.graphical.drawing import in_strata
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import shares
from workbench.training.state import State


def sample(config: TabPEConfig, state: State, request: SampleRequest) -> Records:
    """Rows of their class drawn by their last votes, varied at the last rate; classes by all rounds' votes where none is asked for.

    The paper has each of the rows that are left once: of the many that hardly anybody voted for as many as of the others.
    """
    facts, draw, count = state.facts, state.randomness.stream(request.purpose), request.num_samples
    rows, weights = state.tensors["rows"].cpu().numpy(), np.maximum(state.tensors["votes"].cpu().numpy(), 0.0)[None]
    labels = np.zeros(count, dtype=np.int64)
    if facts.num_classes:
        asked = request.asked_labels(facts.num_classes)
        labels = in_strata(class_shares(state)[None], labels, draw) if asked is None else asked
        own = rows[:, -1] == np.arange(facts.num_classes)[:, None]
        weights = np.where((own * weights).any(axis=1, keepdims=True), own * weights, own)
    picked = rows[in_strata(weights, labels, draw)]
    return records(facts, varied(columns_of(facts), config.last_rate, picked, draw), request)


def class_shares(state: State) -> np.ndarray:
    """Of the classes, by the noisy votes of all rounds so far; even before the first."""
    votes = state.tensors["class_votes"].cpu().numpy()
    total = float(votes.sum())
    return shares(votes, total) if total > 0 else np.full(len(votes), 1 / len(votes))
