"""Feature spaces in which records are compared, each labelled with what it was made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.evaluation import device
from workbench.evaluation.cache import Cache
from workbench.evaluation.learners import Classifier, build_cnn, restore_classifier, train_classifier
from workbench.records import Records

IMAGES = frozenset({"image"})
MOST_COMBINATIONS = 100


class ClassProbabilities(Protocol):
    """What tells probabilities of classes, float32 (N, C)."""

    def probabilities(self, records: Records, /) -> np.ndarray: ...


@dataclass(frozen=True)
class FeatureSpace:
    """A map from records to vectors; call it on Records for float32 (N, D).

    `label` names what the features are and what they were trained on; `key` is equal for equal spaces alone. `private`: made
    from private training records, so that even numbers computed from samples alone may not leave the room, and training
    records are not exchangeable with held-out ones in it.
    """

    label: str
    key: str
    extract: Callable[[Records], np.ndarray]
    private: bool = False
    classifier: ClassProbabilities | None = None

    def __call__(self, records: Records) -> np.ndarray:
        return self.extract(records)


@dataclass(frozen=True)
class Feature:
    """An entry of FEATURES: `build(dataset, public, seed, cache)` makes the space; `kinds` of records it takes."""

    name: str
    kinds: frozenset[str]
    build: Callable[[Dataset, Dataset | None, int, Cache], FeatureSpace]
    description: str


def pixels(dataset: Dataset, _public: Dataset | None = None, _seed: int = 0, _cache: Cache | None = None) -> FeatureSpace:
    """The records themselves, scaled by public constants."""
    kind = dataset.facts.kind
    return FeatureSpace(kind.feature_label, kind.feature_label, lambda records: kind.features(records.records))


def classifier(dataset: Dataset, public: Dataset | None, seed: int, cache: Cache) -> FeatureSpace:
    """The penultimate layer (128 values) of a SmallCNN trained on `public` where it is given, else on private records."""
    source = dataset if public is None else public
    model = remembered_classifier(source, seed, cache)
    label = f"classifier (trained on {source.facts.name})"
    return FeatureSpace(
        label, " ".join((label, cache.fingerprint(source), str(seed), *device.mark())), model.features, not source.facts.is_public, model
    )


def attributes(dataset: Dataset, public: Dataset | None, seed: int, cache: Cache) -> FeatureSpace:
    """The penultimate layer of a SmallCNN that tells attributes apart, those of `public` where it is given, else of private records."""
    source = dataset if public is None else public
    names = told_at_once(source.facts)
    model = remembered_classifier(source.labelled_by("+".join(names)), seed, cache)
    label = f"network (taught {', '.join(names)} of {source.facts.name})"
    return FeatureSpace(
        label, " ".join((label, cache.fingerprint(source), str(seed), *device.mark())), model.features, not source.facts.is_public
    )


def told_at_once(facts: DatasetFacts) -> list[str]:
    """The first attributes of a dataset, as many as have at most 100 combinations of values."""
    sizes = np.cumprod([len(values) for values in facts.attributes.values()])
    names = list(facts.attributes)[: int((sizes <= MOST_COMBINATIONS).sum())]
    if not names:
        raise WorkbenchError(f"Expected attributes to teach a network, {facts.name} has none. Choose the features pixels.")
    return names


def can_train_classifier(facts: DatasetFacts) -> bool:
    """Whether these are records that a classifier takes, with classes to tell apart."""
    return facts.kind.name in IMAGES and bool(facts.classes)


def remembered_classifier(source: Dataset, seed: int, cache: Cache) -> Classifier:
    """A SmallCNN trained on the training records of `source`, from the cache if it was trained before."""
    facts = source.facts
    if not can_train_classifier(facts):
        raise WorkbenchError(f"Expected images with classes to train a classifier on, {facts.name} has none. Choose the features pixels.")

    def weights() -> dict[str, Any]:
        trained = train_classifier(build_cnn, source.train, facts.num_classes, seed).module.state_dict()
        return {key: value.cpu() for key, value in trained.items()}

    state = cache.weights(("classifier", cache.fingerprint(source), facts.num_classes, seed, *device.mark()), weights)
    return restore_classifier(build_cnn, facts.shape, facts.num_classes, state)
