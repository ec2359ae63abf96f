"""The measure of a model that tells the bits of a record: over held-out records, with no ceiling, refused where there is no model."""

import numpy as np
import pytest
from support.homes import here

from workbench import evaluation
from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.records import Records

NAME = "variational_bound"


def test_it_is_the_mean_over_held_out_records(small_digits: Dataset, fresh: Records) -> None:
    calls: list[tuple[Records, int]] = []

    def bits(records: Records, seed: int) -> np.ndarray:
        calls.append((records, seed))
        return np.arange(len(records), dtype=np.float64) % 2 + 3

    measured = evaluation.evaluate(fresh, small_digits, metrics=[NAME], features="pixels", bits=bits, seed=5, workspace=here())[0]
    ((records, seed),) = calls
    assert (len(records), seed) == (200, 5)
    assert {image.tobytes() for image in records.records} == {image.tobytes() for image in small_digits.held_out.records}
    assert records.labels is not None
    assert (measured.value, measured.ceiling, measured.epsilon_zero) == (3.5, None, None)
    assert measured.interval == pytest.approx((3.5 - 1.96 * 0.5013 / 200**0.5, 3.5 + 1.96 * 0.5013 / 200**0.5), rel=1e-4)
    assert "measure of the model" in measured.epsilon_zero_reason
    assert not measured.releasable


def test_it_is_refused_where_no_model_tells(small_digits: Dataset, fresh: Records) -> None:
    with pytest.raises(WorkbenchError, match="needs a model that tells the bits"):
        evaluation.evaluate(fresh, small_digits, metrics=[NAME], workspace=here())
