"""Feature spaces in which records are compared, each labelled with what it was made from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import Dataset, Kind
from workbench.errors import WorkbenchError
from workbench.evaluation import cache
from workbench.evaluation.learners import Classifier, build_cnn, restore_classifier, train_classifier
from workbench.records import Records


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
    classifier: Classifier | None = None

    def __call__(self, records: Records) -> np.ndarray:
        return self.extract(records)


@dataclass(frozen=True)
class Feature:
    """An entry of FEATURES: `build(dataset, public, seed)` makes the space; `kinds` are the data it takes."""

    name: str
    kinds: frozenset[Kind]
    build: Callable[[Dataset, Dataset | None, int], FeatureSpace]
    description: str


def flattened(records: Records, dataset: Dataset) -> np.ndarray:
    """Records as float32 (N, D) in [0, 1]: pixels over 255, or the categories of a table one-hot."""
    if dataset.facts.kind == "image":
        return records.records.reshape(len(records), -1).astype(np.float32) / 255.0
    return one_hot(records.records, dataset.facts.categories)


def one_hot(table: np.ndarray, categories: tuple[int, ...]) -> np.ndarray:
    """Rows (N, columns) of category numbers as float32 (N, sum of `categories`)."""
    sizes = np.asarray(categories)
    if table.size and ((table < 0) | (table >= sizes)).any():
        raise WorkbenchError(f"Expected categories below {categories} per column, got up to {tuple(table.max(axis=0).tolist())}.")
    columns = table + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    result = np.zeros((len(table), int(sizes.sum())), dtype=np.float32)
    np.put_along_axis(result, columns, 1.0, axis=1)
    return result


def pixels(dataset: Dataset, _public: Dataset | None = None, _seed: int = 0) -> FeatureSpace:
    """The records themselves, scaled by public constants."""
    label = "pixels" if dataset.facts.kind == "image" else "one-hot"
    return FeatureSpace(label, label, lambda records: flattened(records, dataset))


def classifier(dataset: Dataset, public: Dataset | None = None, seed: int = 0) -> FeatureSpace:
    """The penultimate layer (128 values) of a SmallCNN trained on `public` where it is given, else on private records."""
    source = dataset if public is None else public
    model = remembered_classifier(source, seed)
    label = f"classifier (trained on {source.facts.name})"
    return FeatureSpace(label, f"{label} {source.fingerprint} {seed}", model.features, not source.facts.is_public, model)


def remembered_classifier(source: Dataset, seed: int) -> Classifier:
    """A SmallCNN trained on the training records of `source`, from the cache if it was trained before."""
    facts = source.facts
    if facts.kind != "image" or not facts.classes:
        raise WorkbenchError(f"Expected images with classes to train a classifier on, {facts.name} has none. Choose the features pixels.")

    def weights() -> dict:
        return train_classifier(build_cnn, source.train, facts.num_classes, seed).module.state_dict()

    found = cache.remembered_weights(("classifier", source.fingerprint, facts.num_classes, seed), weights)
    return restore_classifier(build_cnn, facts.shape, facts.num_classes, found)
