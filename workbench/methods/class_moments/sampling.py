"""Images from a Gaussian for each class, which is post-processing of the three releases."""

import numpy as np
import torch

from workbench.datasets.base import to_uint8
from workbench.methods.class_moments.config import ClassMomentsConfig
from workbench.methods.class_moments.releases import symmetric
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State

LEAST_COUNT = 0.1  # of an even share of the records: what a noisy count is taken to be at least


def sample(config: ClassMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of the Gaussian of their class, all classes with one covariance."""
    labels = request.label_array(state.facts.num_classes)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    means, deviations = gaussians(state)
    noise = torch.randn(len(rows), means.shape[1], generator=state.randomness.torch_generator(request.purpose), dtype=torch.float64)
    images = torch.from_numpy(means[rows] + noise.numpy() @ deviations.T).view(-1, *config.pooled_shape(state.facts))
    if config.pooling > 1:
        images = torch.nn.functional.interpolate(images, size=state.facts.shape[1:], mode="bilinear", align_corners=False)
    return Records(to_uint8(2.0 * images.numpy() - 1.0), labels)


def gaussians(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and a root (D, D) of the covariance that they share, whose negative eigenvalues are cut.

    m_c = sum_c / N_c and M / n - sum_c (N_c / n) m_c m_c^T, of the noisy sums, counts and second moment.
    """
    sums, counts, second = (state.tensors[name].cpu().numpy() for name in ("sums", "counts", "second_moment"))
    num_records = state.facts.num_records
    counts = np.maximum(counts, LEAST_COUNT * num_records / len(counts))
    means = sums / counts[:, None]
    between = (means.T * (counts / num_records)) @ means
    values, directions = np.linalg.eigh(symmetric(second, means.shape[1]) / num_records - between)
    return means, directions * np.sqrt(np.maximum(values, 0.0))
