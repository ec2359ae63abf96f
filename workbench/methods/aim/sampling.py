"""Rows drawn from the model, which is post-processing of the releases."""

import torch

from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.drawing import drawn_rows
from workbench.models.graphical.junction_tree import Columns
from workbench.models.graphical.zeros import zeros_of
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import sizes_of
from workbench.training.state import State


def sets_of(rows: torch.Tensor) -> list[Columns]:
    """Sets of columns from rows of numbers, -1 where there are fewer."""
    return [tuple(number for number in row if number >= 0) for row in rows.tolist()]


def structure_of(state: State) -> Structure:
    """The sets that the model has potentials of, and declared zeros; its tree begins at the last column, the label where there is one."""
    sizes = sizes_of(state.facts)
    return Structure(sizes, tuple(sets_of(state.tensors["sets"])), len(sizes) - 1, zeros_of(state.facts))


def beliefs_of(state: State) -> Beliefs:
    """The model's distribution."""
    return Beliefs.of(structure_of(state), state.tensors["potentials"])


def sample(state: State, request: SampleRequest) -> Records:
    """Rows of the model, given the labels where some are asked for."""
    labels = request.asked_labels(state.facts.num_classes)
    rows = drawn_rows(beliefs_of(state), request.num_samples, state.randomness.stream(request.purpose), labels)
    return records(state.facts, rows, request)
