"""Whether samples vary as what public records alone give: the covariance within classes beside that of the public prior.

Only samples and public records are looked at, so what is found may leave wherever the samples may.
"""

import math

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.records import Records

ALIKE = 0.9  # of two covariances' cosine, from which on samples look like the public prior
COMPARED = 300  # samples of either side
FEWEST = 100  # below which the cosine of covariances is mostly noise


def prior_likeness(samples: Records, prior: Records, facts: DatasetFacts) -> float:
    """The cosine of the covariances within classes of `samples` and `prior`, 1 where they are proportional, and 1 where either is zero.

    Norms are inner products of two halves' covariances, so the noise of few samples does not lengthen them.
    """
    first, second = halves(samples, facts)
    public, other = halves(prior, facts)
    crossed = [inner(mine, theirs) for mine in (first, second) for theirs in (public, other)]
    squared = inner(first, second) * inner(public, other)
    return float(np.mean(crossed)) / math.sqrt(squared) if squared > 0 else 1.0


def halves(records: Records, facts: DatasetFacts) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second half of the records as vectors (N, D), each less the mean of its class in that half."""
    vectors = facts.kind.features(records.records).astype(np.float64)
    labels = np.zeros(len(records), np.int64) if records.labels is None else records.labels
    middle = len(records) // 2
    return centred_by_class(vectors[:middle], labels[:middle]), centred_by_class(vectors[middle:], labels[middle:])


def centred_by_class(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Vectors (N, D) less the mean of their class."""
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, inverse, vectors)
    return vectors - (sums / counts[:, None])[inverse]


def inner(one: np.ndarray, other: np.ndarray) -> float:
    """The inner product of the covariances of centred vectors (N, D) and (M, D), by their (N, M) products alone."""
    return float(((one @ other.T) ** 2).sum()) / (len(one) * len(other))
