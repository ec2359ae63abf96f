"""Batches: each record on its own with the sampling rate, or a fixed number of different ones."""

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.training.poisson import fixed_size_batch, poisson_batch
from workbench.training.randomness import Randomness

RANDOMNESS = Randomness.from_seed(3)


def test_every_record_is_drawn_at_the_sampling_rate_and_on_its_own() -> None:
    drawn = np.zeros((2000, 50))
    for step in range(len(drawn)):
        drawn[step, poisson_batch(RANDOMNESS, "batch", step, 50, 0.2)] = 1
    spread = 5 * np.sqrt(0.2 * 0.8 / len(drawn))
    assert np.abs(drawn.mean(0) - 0.2).max() < spread
    correlations = np.corrcoef(drawn.T)[np.triu_indices(50, 1)]
    assert np.abs(correlations).max() < 6 / np.sqrt(len(drawn))
    assert abs(drawn.sum(1).var() / (50 * 0.2 * 0.8) - 1) < 0.2


def test_a_replayed_step_draws_its_batch_again_and_another_does_not() -> None:
    first = poisson_batch(RANDOMNESS, "batch", 1, 1000, 0.1)
    assert np.array_equal(first, poisson_batch(RANDOMNESS, "batch", 1, 1000, 0.1))
    assert not np.array_equal(first, poisson_batch(RANDOMNESS, "batch", 2, 1000, 0.1))
    assert first.dtype == np.int64


def test_the_ends_of_the_range() -> None:
    assert len(poisson_batch(RANDOMNESS, "batch", 1, 100, 1.0)) == 100
    assert len(poisson_batch(RANDOMNESS, "batch", 1, 10, 1e-9)) == 0
    for rate in (0.0, -0.1, 1.1):
        with pytest.raises(WorkbenchError, match="sample_rate"):
            poisson_batch(RANDOMNESS, "batch", 1, 10, rate)


def test_fixed_size_batches_hold_different_records_all_equally_often() -> None:
    counts = np.zeros(20)
    for step in range(2000):
        batch = fixed_size_batch(RANDOMNESS, "batch", step, 20, 5)
        assert len(set(batch)) == 5
        counts[batch] += 1
    assert np.abs(counts / 2000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 2000)
    assert sorted(fixed_size_batch(RANDOMNESS, "batch", 1, 4, 4)) == [0, 1, 2, 3]
    for size in (0, 21):
        with pytest.raises(WorkbenchError, match="batch_size"):
            fixed_size_batch(RANDOMNESS, "batch", 1, 20, size)
