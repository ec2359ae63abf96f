"""Noisy counts of the classes, a release that is paid for, and labels drawn by them: for models that release no counts anyway."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.models.label_shares import LABEL_COUNTS, PaidLabelShares, labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.marginals import grid_of, in_steps
from workbench.training.state import State, Step


def add_to(labels: PaidLabelShares, facts: DatasetFacts, state: State) -> None:
    """Room for the counts, if there will be any."""
    if labels.are_released:
        state.tensors[LABEL_COUNTS] = torch.zeros(facts.num_classes, dtype=torch.float64, device=state.device)


def release(labels: PaidLabelShares, data: Records, state: State) -> Iterator[Step]:
    """The counts once, recorded as spent before a label is read; nothing where none are asked for."""
    if not labels.are_released or state.steps.get(LABEL_COUNTS, 0):
        return
    state.spend(LABEL_COUNTS, 1)
    assert data.labels is not None
    grid = grid_of(1, labels.noise_multiplier, state.facts)
    counts = np.bincount(data.labels[data.mask], minlength=state.facts.num_classes)
    released = state.randomness.release(LABEL_COUNTS, 1, in_steps(counts, 1, grid), grid)
    state.tensors[LABEL_COUNTS], state.steps[LABEL_COUNTS] = torch.from_numpy(released).to(state.device), 1
    yield Step(LABEL_COUNTS, 1, 1)


def with_drawn_labels(labels: PaidLabelShares, request: SampleRequest, state: State) -> SampleRequest:
    """The request with its labels drawn by the counts, where these are released and it names none; as it is elsewhere."""
    if not labels.are_released:
        return request
    draw = state.randomness.stream(f"{request.purpose}, labels")
    counts = state.tensors[LABEL_COUNTS].cpu().numpy()
    return replace(request, labels=labels_by(labels, request, state.facts.num_classes, counts, draw))
