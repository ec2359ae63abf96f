"""Train on synthetic records, test on held-out real ones: five classifiers with fixed hyper-parameters.

Nothing is tuned, and no epoch chosen, by looking at private records.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.learners import build_cnn, build_mlp, labels_of, train_classifier
from workbench.records import Records, TableKind

Learner = Callable[[Records, Records, Dataset, int], np.ndarray]  # (train, test, dataset, seed) -> classes (N,) of test
Chances = Learner  # the same to the chance of each class, (N, classes)
MOST_CATEGORIES = 255  # of a column that the library's boosting takes as categories


def logistic_regression(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Multinomial logistic regression, C = 1, on values in [0, 1]; run to convergence."""
    return logistic_chances(train, test, dataset, seed).argmax(axis=1)


def logistic_chances(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Of the logistic regression."""
    from sklearn.linear_model import LogisticRegression

    features = dataset.facts.kind.features
    model = LogisticRegression(C=1.0, max_iter=2_000, random_state=seed)
    return _chances(model, features(train.records), train, features(test.records), dataset)


def gradient_boosting(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Histogram gradient boosting at the library's settings, on a table's columns: ranges in their order, others as categories."""
    return boosting_chances(train, test, dataset, seed).argmax(axis=1)


def boosting_chances(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Of gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    unordered: Any = [not column.edges and len(column.categories) <= MOST_CATEGORIES for column in TableKind.of(dataset.facts.kind).columns]
    model = HistGradientBoostingClassifier(categorical_features=unordered, random_state=seed)
    return _chances(model, train.records, train, test.records, dataset)


def _chances(model: Any, features: np.ndarray, train: Records, queries: np.ndarray, dataset: Dataset) -> np.ndarray:
    """A fitted classifier's chances of all classes, also of those that it has never seen."""
    labels, chances = labels_of(train, dataset.facts.num_classes), np.zeros((len(queries), dataset.facts.num_classes))
    seen = np.unique(labels)
    if len(seen) == 1:  # a collapsed sampler; the library refuses what has an obvious answer
        chances[:, seen] = 1.0
    else:
        chances[:, seen] = model.fit(features, labels).predict_proba(queries)
    return chances


def random_forest(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """200 trees, grown fully."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=200, n_jobs=2, random_state=seed)
    labels, features = labels_of(train, dataset.facts.num_classes), dataset.facts.kind.features
    return model.fit(features(train.records), labels).predict(features(test.records))


def mlp(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Two hidden layers, trained as `train_classifier` says."""
    return train_classifier(build_mlp, train, dataset.facts.num_classes, seed).predict(test)


def cnn(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """A SmallCNN, trained as `train_classifier` says."""
    return train_classifier(build_cnn, train, dataset.facts.num_classes, seed).predict(test)


def accuracy(learner: Learner, samples: Records, dataset: Dataset, seed: int) -> float:
    """Share of held-out records that `learner`, trained on `samples`, puts into their class."""
    truth = labels_of(dataset.held_out, dataset.facts.num_classes)
    if not len(truth):
        raise WorkbenchError(f"Expected held-out records to test on, {dataset.facts.name} has none.")
    return float(np.mean(learner(samples, dataset.held_out, dataset, seed) == truth))
