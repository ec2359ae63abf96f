"""The class that samples serve worst: a class that is lost in them is named, whatever the mean over all says."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import recall_score
from support.homes import here

from workbench.datasets import Dataset
from workbench.evaluation import METRICS, evaluate
from workbench.evaluation.downstream import logistic_regression
from workbench.evaluation.intervals import wilson
from workbench.evaluation.results import MetricResult
from workbench.records import Records

NAME, LOST = "worst_class_logistic_regression", 3


def measured(samples: Records, dataset: Dataset) -> MetricResult:
    return evaluate(samples, dataset, metrics=[NAME], seed=5, workspace=here())[0]


@pytest.fixture
def without_threes(fresh: Records) -> Records:
    """The digits with noise in the place of every three."""
    assert fresh.labels is not None
    records, threes = fresh.records.copy(), fresh.labels == LOST
    records[threes] = np.random.default_rng(0).integers(0, 256, records[threes].shape, dtype=np.uint8)
    return replace(fresh, records=records)


def test_it_is_the_least_recall_of_any_class_with_that_class_s_interval(small_digits: Dataset, without_threes: Records) -> None:
    worst, held_out = measured(without_threes, small_digits), small_digits.held_out
    said = logistic_regression(without_threes, held_out, small_digits, 5)
    recalls = recall_score(held_out.labels, said, average=None)
    assert worst.value == pytest.approx(recalls.min())
    assert int(recalls.argmin()) == LOST
    assert worst.note.startswith("Of 3, the class that is served worst.")
    number = int((held_out.labels == LOST).sum())
    assert f"3: {recalls.min():.2f} (of {number})" in worst.note
    assert worst.note.count("(of ") == 10
    assert worst.interval == pytest.approx(wilson(float(recalls.min()), number))


def test_real_records_stand_beside_it_and_it_stays_in_the_room(small_digits: Dataset, without_threes: Records) -> None:
    worst = measured(without_threes, small_digits)
    assert worst.ceiling is not None
    assert worst.ceiling > worst.value + 0.3
    assert not worst.releasable
    assert METRICS[NAME].by_name
