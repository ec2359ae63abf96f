"""A generator that is fitted to one noisy mean embedding by class, by the squared distance: DP-MERF's plan, whatever the features are."""

from collections.abc import Iterator

from torch import Tensor

from workbench.datasets.base import DatasetFacts
from workbench.models import label_counts
from workbench.models.embeddings import generators, releases
from workbench.models.embeddings.config import EMBEDDING, GeneratorSettings
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(settings: GeneratorSettings, facts: DatasetFacts, state: State, size: int) -> State:
    """The generator, Adam, and room for the one release of `size` numbers a class."""
    return generators.initial_state(settings, facts, state, {EMBEDDING: size})


def fit(settings: GeneratorSettings, data: Records, features: releases.Embedding, stage: str, state: State) -> Iterator[Step]:
    """The release `stage`, counts of labels if asked for, and the generator whose mean embedding comes near to it."""
    yield from release(settings, data, features, stage, state)

    def distance(_step: int, images: Tensor, rows: Tensor) -> Tensor:
        return apart(state, features(images), rows).square().sum()

    yield from generators.fit(settings, state, distance)


def release(settings: GeneratorSettings, data: Records, features: releases.Embedding, stage: str, state: State) -> Iterator[Step]:
    """The release of that stage, and counts of labels if asked for."""
    yield from releases.release(data, features, deviation(settings), state, stage, EMBEDDING)
    yield from label_counts.release(settings.labels, data, state)


def apart(state: State, features: Tensor, rows: Tensor) -> Tensor:
    """How the mean by class of features (B, F) differs from what was released: (F, classes)."""
    released = state.tensors[EMBEDDING]
    return generators.mean_by_class(features, rows, released.shape[1]) - released


def deviation(settings: GeneratorSettings) -> float:
    """Of the noise on the sum: the configured multiplier of the distance 2."""
    assert settings.noise_multiplier is not None
    return 2.0 * settings.noise_multiplier


def noise_share(config: GeneratorSettings, state: State) -> float:
    """Of the squared norm of the released embedding."""
    return releases.share_of_noise(state.tensors[EMBEDDING], deviation(config), state.facts.num_records)


def class_noise_share(config: GeneratorSettings, state: State) -> float | None:
    """The same of what differs between classes."""
    return releases.class_share_of_noise(state.tensors[EMBEDDING], deviation(config), state.facts.num_records)


def noise_by_class(config: GeneratorSettings, state: State) -> tuple[float, ...]:
    """The same of the embedding of each class."""
    return releases.noise_by_class(state.tensors[EMBEDDING], deviation(config), state.facts.num_records)
