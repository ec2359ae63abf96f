"""Rows drawn from those that are left, which is post-processing of the votes and of the counts of columns."""

import numpy as np

from workbench.methods.tab_pe.columns import fitted
from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.rows import columns_of, varied
from workbench.models.graphical.drawing import in_strata
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import shares
from workbench.training.state import State


def sample(config: TabPEConfig, state: State, request: SampleRequest) -> Records:
    """Rows of their class drawn by their last votes, varied at the last rate; classes in `class_shares` where none is asked for.

    The paper has each of the rows that are left once: of the many that hardly anybody voted for as many as of the others. It stops at
    the votes too, and a row that is the nearest of many has what is common among them: where columns were released, the samples are
    fitted to them (`columns.fitted`).
    """
    facts, draw, count = state.facts, state.randomness.stream(request.purpose), request.num_samples
    rows, votes = state.tensors["rows"].cpu().numpy(), np.maximum(state.tensors["votes"].cpu().numpy(), 0.0)
    labels, own = np.zeros(count, dtype=np.int64), np.ones((1, len(rows)), dtype=bool)
    if facts.num_classes:
        asked = request.asked_labels(facts.num_classes)
        labels = in_strata(class_shares(state)[None], labels, draw) if asked is None else asked
        own = rows[:, -1] == np.arange(facts.num_classes)[:, None]
    weights = np.where((own * votes).any(axis=1, keepdims=True), own * votes, own)
    picked = varied(columns_of(facts), config.last_rate, rows[in_strata(weights, labels, draw)], draw)
    return records(facts, fitted(config, state, rows, weights, picked, draw) if config.share_of_columns else picked, request)


def class_shares(state: State) -> np.ndarray:
    """Of the classes, by the noisy votes of all rounds so far; even before the first."""
    votes = state.tensors["class_votes"].cpu().numpy()
    total = float(votes.sum())
    return shares(votes, total) if total > 0 else np.full(len(votes), 1 / len(votes))
