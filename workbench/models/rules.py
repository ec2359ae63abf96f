"""Rows that keep the rules which are declared between columns: those that break one are drawn again, whatever the method.

This is post-processing: rules are public, and no private record is looked at. What is left is the method's own distribution given that
all rules hold.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.models.sample_request import SampleRequest
from workbench.records import Records, TableKind

MOST_DRAWS = 300


def obeying_rows(facts: DatasetFacts, draw: Callable[[SampleRequest], Records], request: SampleRequest) -> Records:
    """The rows of a request, those that break a rule drawn again with the class that was asked for, from a stream of their own.

    Refuses rules that leave out (nearly) all that the model draws.
    """
    kind, drawn = TableKind.of(facts.kind), draw(request)
    if not kind.never:
        return drawn
    has_asked = request.asked_labels(facts.num_classes) is not None
    for attempt in range(1, MOST_DRAWS + 1):
        broken = np.flatnonzero(np.logical_or.reduce(kind.rows_breaking(drawn)))
        if not len(broken):
            return drawn
        labels = drawn.labels[broken] if has_asked and drawn.labels is not None else None
        purpose = f"{request.purpose}, drawn again {attempt}"
        again = draw(replace(request, num_samples=len(broken), labels=labels, balanced=False, purpose=purpose))
        drawn.records[broken] = again.records
        if drawn.labels is not None and again.labels is not None:
            drawn.labels[broken] = again.labels
    left = int(np.logical_or.reduce(kind.rows_breaking(drawn)).sum())
    if left:
        raise WorkbenchError(
            f"Expected rows that keep the declared rules, got {left} of {request.num_samples} that break one after {MOST_DRAWS} draws. "
            "Check that the rules leave something of every class that is asked for."
        )
    return drawn
