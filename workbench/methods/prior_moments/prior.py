"""The prior: each class's mean and the covariance within classes of public images. It costs no privacy."""

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments import ClassMomentsConfig
from workbench.methods.class_moments.releases import Reading, chunks, labels_of, quantile_of_norms, vectors
from workbench.records import Records
from workbench.training.state import State


def add_to(config: ClassMomentsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the prior and the clipping norm."""
    dimensions = config.dimensions(facts)
    shapes = {"norm": (), "public_means": (max(facts.num_classes, 1), dimensions), "public_covariance": (dimensions, dimensions)}
    state.tensors |= {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def learn(config: ClassMomentsConfig, public: Records | None, state: State) -> None:
    """Put the prior and the clipping norm of public images into the state; images without labels give every class one mean."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.dataset!r} to take the prior from, got none.")
    means = means_of(public, state.tensors["public_means"].shape[0], config)
    centred = Reading(norm=np.inf, pooling=config.pooling, origins=means)
    covariance = sum(found.T @ found for found in map(centred.vectors, chunks(public))) / len(public)
    norm = config.max_norm or quantile_of_norms(config, centred, public)
    for name, value in {"norm": norm, "public_means": means, "public_covariance": covariance}.items():
        state.tensors[name] = torch.as_tensor(value, dtype=torch.float64, device=state.device)


def means_of(public: Records, classes: int, config: ClassMomentsConfig) -> np.ndarray:
    """The mean (classes, D) of the public images of each class, or of all of them where they have no labels."""
    sums, counts = np.zeros((classes, 1)), np.zeros((classes, 1))
    for part in chunks(public):
        found = vectors(part, config.pooling)
        shown = np.ones((classes, len(part))) if public.labels is None else np.arange(classes)[:, None] == labels_of(part)
        sums, counts = sums + shown @ found, counts + shown.sum(1, keepdims=True)
    if (counts == 0).any():
        raise WorkbenchError(f"Expected public images of every class in {config.dataset}, got none of one. Use more records.")
    return sums / counts


def reading(config: ClassMomentsConfig, state: State) -> Reading:
    """How private records are read: as differences from their class's public mean."""
    means, _ = gaussians(state)
    return Reading(float(state.tensors["norm"]), config.pooling, means)


def gaussians(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and covariance (D, D) of the prior."""
    return state.tensors["public_means"].cpu().numpy(), state.tensors["public_covariance"].cpu().numpy()
