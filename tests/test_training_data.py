"""A bound is of so many records of such values: a plan trains on no others, and nothing has been spent when it refuses."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.quick import quick_plan

from workbench import experiment
from workbench.datasets import Dataset
from workbench.errors import WorkbenchError


def named_otherwise(dataset: Dataset) -> Dataset:
    return replace(dataset, facts=dataset.facts.model_copy(update={"name": "others"}))


def with_train(dataset: Dataset, **fields: np.ndarray) -> Dataset:
    return replace(dataset, train=replace(dataset.train, **fields))


OTHERS: dict[str, tuple[Callable[[Dataset], Dataset], str]] = {
    "other facts": (named_otherwise, "The plan was made for digits with 1500 records, not for these records"),
    "a record fewer": (lambda data: replace(data, train=data.train.take(slice(1_499))), "Expected training records of shape"),
    "a record twice": (
        lambda data: replace(data, train=data.train.take(np.append(np.arange(1_500), 0))),
        "Expected training records of shape",
    ),
    "numbers of another type": (lambda data: with_train(data, records=data.train.records.astype(np.float32)), "uint8"),
    "a class too many": (lambda data: with_train(data, labels=np.full(1_500, 10)), "labels"),
    "a label below all": (lambda data: with_train(data, labels=np.full(1_500, -1)), "labels"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_records_that_the_bound_does_not_hold_for_are_refused(what: str) -> None:
    change, words = OTHERS[what]
    plan, spent = quick_plan("class-means"), []
    state = experiment.new_state(plan, seed=1, spend=lambda *step: spent.append(step))
    with pytest.raises(WorkbenchError, match=words):
        next(experiment.fit(plan, change(experiment.load("digits")), state))
    assert spent == []
