"""How batches are drawn: Poisson (every record on its own), or a fixed number without replacement."""

import numpy as np

from workbench.errors import WorkbenchError
from workbench.training.randomness import Randomness


def poisson_batch(randomness: Randomness, purpose: str, step: int, num_records: int, sample_rate: float) -> np.ndarray:
    """Indices of the batch of `step`, ascending int64: each of `num_records` is in it with probability `sample_rate`.

    May be empty. A replayed step draws the same batch; every rank of a parallel run draws the whole (union) batch.
    """
    if not 0.0 < sample_rate <= 1.0:
        raise WorkbenchError(f"Expected a sample_rate in (0, 1], got {sample_rate}.")
    return np.flatnonzero(randomness.stream(purpose, step).bernoulli(sample_rate, num_records))


def fixed_size_batch(randomness: Randomness, purpose: str, step: int, num_records: int, batch_size: int) -> np.ndarray:
    """Indices (batch_size,) int64 of different records, every subset equally likely, in random order; afresh at each step."""
    if not 1 <= batch_size <= num_records:
        raise WorkbenchError(f"Expected a batch_size of 1 to the number of records ({num_records}), got {batch_size}.")
    return randomness.stream(purpose, step).choice(num_records, batch_size)
