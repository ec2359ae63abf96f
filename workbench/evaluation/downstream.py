"""Train on synthetic records, test on held-out real ones: four classifiers with fixed hyper-parameters.

Nothing is tuned, and no epoch chosen, by looking at private records.
"""

from collections.abc import Callable

import numpy as np

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.learners import build_cnn, build_mlp, labels_of, train_classifier
from workbench.records import Records

Learner = Callable[[Records, Records, Dataset, int], np.ndarray]  # (train, test, dataset, seed) -> classes (N,) of test


def logistic_regression(train: Records, test: Records, dataset: Dataset, seed: int) -> np.ndarray:
    """Multinomial logistic regression, C = 1, on values in [0, 1]; run to convergence."""
    from sklearn.linear_model import LogisticRegression

    labels = labels_of(train, dataset.facts.num_classes)
    if len(np.unique(labels)) == 1:  # a collapsed sampler; the library refuses what has an obvious answer
        return np.full(len(test), labels[0])
    model = LogisticRegression(C=1.0, max_iter=2_000, random_state=seed)
    features = dataset.facts.kind.features
    return model.fit(features(train.records), labels).predict(features(test.records))


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
