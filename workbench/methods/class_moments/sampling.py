"""Images from a Gaussian for each class, which is post-processing of the three releases."""

import numpy as np
import torch

from workbench.datasets.base import to_uint8
from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.methods.class_moments.releases import symmetric
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State

LEAST_COUNT = 0.1  # of an even share of the records: what a noisy count is taken to be at least


def sample(config: ClassMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of the Gaussian of their class, all classes with one covariance."""
    return drawn(config, *gaussians(state), state, request)


def drawn(config: ClassMomentsConfig, means: np.ndarray, deviations: np.ndarray, state: State, request: SampleRequest) -> Records:
    """Images of means (classes, D) and a covariance whose root (D, D) they share, of the dataset's shape."""
    counts, draw = state.tensors["counts"].cpu().numpy(), state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, counts, draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    noise = torch.randn(len(rows), means.shape[1], generator=state.randomness.torch_generator(request.purpose), dtype=torch.float64)
    images = torch.from_numpy(means[rows] + noise.numpy() @ deviations.T).view(-1, *config.pooled_shape(state.facts))
    if config.pooling > 1:
        images = torch.nn.functional.interpolate(images, size=state.facts.shape[1:], mode="bilinear", align_corners=False)
    return Records(to_uint8(2.0 * images.numpy() - 1.0), labels)


def gaussians(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and a root (D, D) of the covariance that they share, whose negative eigenvalues are cut.

    m_c = sum_c / N_c and M / n - sum_c (N_c / n) m_c m_c^T, of the noisy sums, counts and second moment.
    """
    counts = counts_of(state)
    means = state.tensors["sums"].cpu().numpy() / counts[:, None]
    return means, root(within(state, means, counts))


def counts_of(state: State) -> np.ndarray:
    """The noisy counts (classes,), none of them next to nothing."""
    counts = state.tensors["counts"].cpu().numpy()
    return np.maximum(counts, LEAST_COUNT * state.facts.num_records / len(counts))


def within(state: State, means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The covariance (D, D) within classes of these means (classes, D) by the noisy second moment; it may have negative eigenvalues."""
    second, shares = state.tensors["second_moment"].cpu().numpy(), counts / state.facts.num_records
    return symmetric(second, means.shape[1]) / state.facts.num_records - (means.T * shares) @ means


def noise_share(covariance: np.ndarray, kept: int | None = None) -> float:
    """Which part of the `kept` greatest variances (all, if None) of a released covariance (D, D) noise alone would give, 0..1.

    The noise is symmetric about zero, and records give no variance below it: what stands below is as much as noise puts above.
    """
    values = np.linalg.eigvalsh(covariance)
    count = len(values) if kept is None else kept
    drawn, noise = float(np.maximum(values[-count:], 0.0).sum()), float(np.maximum(-values[:count], 0.0).sum())
    return min(1.0, noise / drawn) if drawn > 0 else 1.0


def root(covariance: np.ndarray) -> np.ndarray:
    """A root (D, D) of a covariance, whose negative eigenvalues are cut."""
    values, directions = np.linalg.eigh(covariance)
    return directions * np.sqrt(np.maximum(values, 0.0))
