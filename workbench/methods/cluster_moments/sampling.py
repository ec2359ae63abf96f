"""Images from the mixture of their class, which is post-processing of the releases."""

import numpy as np
import torch

from workbench.datasets.base import to_uint8
from workbench.methods.cluster_moments import mixture
from workbench.methods.cluster_moments.config import ClusterMomentsConfig
from workbench.methods.cluster_moments.cosines import synthesised
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State


def sample(config: ClusterMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of a cluster of their class, drawn by its share, and its class's Gaussian about it."""
    found = mixture.directions(config, state)
    parted = mixture.clusters(config, state, found)
    draw = state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, mixture.noisy_counts(config, state), draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    generator = state.randomness.torch_generator(request.purpose)
    cluster = torch.multinomial(torch.from_numpy(parted.shares[rows]), 1, generator=generator)[:, 0].numpy() if len(rows) else rows
    noise = torch.randn(len(rows), found.axes.shape[1], generator=generator, dtype=torch.float64).numpy()
    spread = np.zeros_like(noise)
    for label, root in enumerate(mixture.roots(config, state, found, parted)):
        spread[rows == label] = noise[rows == label] @ root.T
    drawn = found.means[rows] + (parted.means[rows, cluster] + spread) @ found.axes.T
    images = synthesised(drawn, config.coarse_shape(state.facts), (state.facts.shape[1], state.facts.shape[2]))
    return Records(to_uint8(2.0 * images - 1.0), labels)
