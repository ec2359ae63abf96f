"""DP-MERF's training: the noisy mean of random Fourier features, and the generator that is fitted to it."""

from collections.abc import Iterator
from functools import partial

from torch import Tensor

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_merf.method import RELEASE, DPMERFConfig
from workbench.models.embeddings import single
from workbench.models.embeddings.fourier import fourier_features, gaussian_frequencies, usual_length_scale
from workbench.models.embeddings.generators import sample
from workbench.models.embeddings.single import class_noise_share, noise_by_class, noise_share
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_by_class", "noise_share", "sample"]


def initial_state(config: DPMERFConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, Adam, and room for the one release."""
    return single.initial_state(config, facts, state, config.size)


def fit(config: DPMERFConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the noisy mean embedding once, then minimise the squared distance to that of generated images (their eq. 8)."""
    features = partial(fourier_features, frequencies=new_frequencies(config, state))
    yield from single.fit(config, data, features, RELEASE, state)


def new_frequencies(config: DPMERFConfig, state: State) -> Tensor:
    """Gaussian frequencies (dimensions, num_features / 2)."""
    dimensions = state.facts.dimensions
    length_scale = config.length_scale or usual_length_scale(dimensions)
    return gaussian_frequencies(dimensions, config.num_features // 2, [length_scale], state.device)
