"""A record's features: scattering, less the public images' mean, in their principal components, of norm at most 1 with a constant."""

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.private_classifier.config import PrivateClassifierConfig
from workbench.methods.private_classifier.scattering import Scattering
from workbench.training.state import State

CONSTANT = 0.3  # beside features of norm 1, for the classes' shares
LEAST_VARIANCE = 1e-4  # of the widest component's, as which narrower ones are taken


def scattering_of(config: PrivateClassifierConfig, facts: DatasetFacts) -> Scattering:
    """The transform of the facts' images."""
    return Scattering((facts.shape[1], facts.shape[2]), config.octaves, config.orientations, config.cells)


def learn(config: PrivateClassifierConfig, scattered: np.ndarray, state: State) -> None:
    """Put into the state what public images' scattering (N, F) says of features: their mean, and the scaled axes (F, k)."""
    origin, spread = scattered.mean(axis=0), scattered.std(axis=0)
    scale = 1.0 / np.maximum(spread, max(float(spread.max()), 1e-12) * 1e-3)
    centred = (scattered - origin) * scale
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    kept = slice(len(variances) - config.used_components(state.facts), None)
    widths = np.maximum(variances[kept], max(float(variances[-1]), 1e-12) * LEAST_VARIANCE) ** (config.whitening / 2)
    turned = scale[:, None] * axes[:, kept] / widths
    radius = float(np.median(np.linalg.norm((scattered - origin) @ turned, axis=1)))
    state.tensors["origin"] = torch.from_numpy(origin).to(state.device)
    state.tensors["axes"] = torch.from_numpy(turned / max(radius, 1e-12)).to(state.device)


def turned(scattered: np.ndarray, state: State) -> np.ndarray:
    """Features (N, k + 1) of scattering (N, F): the components, cut to norm 1, and a constant."""
    origin, axes = (state.tensors[name].cpu().numpy() for name in ("origin", "axes"))
    found = (scattered - origin) @ axes
    found /= np.maximum(1.0, np.linalg.norm(found, axis=1, keepdims=True))
    return np.concatenate([found, np.full((len(found), 1), CONSTANT)], axis=1)
