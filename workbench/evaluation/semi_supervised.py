"""Few public labels and many synthetic images without any (Chu et al. 2023, section V.D).

The paper gives no algorithm. Our reading is self-training: a classifier learns from a few public images of each class; the synthetic
images that it is sure of join them with the class that it sees, and it learns anew, some rounds over.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.context import Context, Measure, Measurement, Metric
from workbench.evaluation.intervals import wilson
from workbench.evaluation.learners import build_cnn, build_mlp, labels_of, train_classifier
from workbench.records import Records

PER_CLASS, ROUNDS, SURE = 10, 5, 0.95
READING = "Our reading: the paper gives no algorithm."


class Judge(Protocol):
    """What a learner becomes: it says how sure it is of every class, (N, num_classes), and which one it takes."""

    def probabilities(self, records: Records, /) -> np.ndarray: ...
    def predict(self, records: Records, /) -> np.ndarray: ...


Train = Callable[[Records], Judge]


@dataclass(frozen=True)
class SelfTrained:
    """The classifier of the public labels alone, that of the last round, and how many synthetic images it learnt from."""

    first_classifier: Judge
    last_classifier: Judge
    num_synthetic: int


def few_labels(public: Dataset, seed: int) -> Records:
    """`PER_CLASS` images of each class of `public`, drawn by the seed; all of a class that has fewer, which must be one at least."""
    labels = labels_of(public.train, public.facts.num_classes)
    order = np.random.default_rng(seed).permutation(len(labels))
    places = [order[labels[order] == label][:PER_CLASS] for label in range(public.facts.num_classes)]
    if missing := [public.facts.classes[label] for label, members in enumerate(places) if not len(members)]:
        raise WorkbenchError(f"Expected public images of every class in {public.facts.name}, got none of {', '.join(missing)}.")
    return public.train.take(np.concatenate(places))


def self_trained(labelled: Records, images: Records, train: Train) -> SelfTrained:
    """Self-training from `labelled` on `images`, whose own labels are not looked at.

    In each of `ROUNDS` rounds every image is judged anew; those of a probability above `SURE` make up the next training set with
    the labelled ones. A round that changes nothing is the last.
    """
    first = last = train(labelled)
    joined = np.zeros(0, dtype=np.int64)
    classes = np.zeros(0, dtype=np.int64)
    for _ in range(ROUNDS):
        probabilities = last.probabilities(images)
        sure = np.flatnonzero(probabilities.max(axis=1) > SURE)
        judged = probabilities[sure].argmax(axis=1)
        if np.array_equal(sure, joined) and np.array_equal(judged, classes):
            break
        joined, classes = sure, judged
        last = train(labelled.followed_by(Records(images.records[sure], judged)))
    return SelfTrained(first, last, len(joined))


def cnn_of(num_classes: int, seed: int) -> Train:
    """A SmallCNN, trained as `train_classifier` says."""
    return lambda records: train_classifier(build_cnn, records, num_classes, seed)


def mlp_of(num_classes: int, seed: int) -> Train:
    """Two hidden layers, trained as `train_classifier` says."""
    return lambda records: train_classifier(build_mlp, records, num_classes, seed)


def logistic_regression_of(num_classes: int, seed: int) -> Train:
    """Multinomial logistic regression, C = 1, on pixels in [0, 1]."""
    return lambda records: Logistic(records, num_classes, seed)


class Logistic:
    """A logistic regression of images; every class is among those that it learns from."""

    def __init__(self, records: Records, num_classes: int, seed: int) -> None:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1.0, max_iter=2_000, random_state=seed)
        self.model = model.fit(_pixels(records), labels_of(records, num_classes))

    def probabilities(self, records: Records) -> np.ndarray:
        """Of each class, (N, num_classes)."""
        return self.model.predict_proba(_pixels(records))

    def predict(self, records: Records) -> np.ndarray:
        """The most probable class (N,)."""
        return self.probabilities(records).argmax(axis=1)


def _pixels(records: Records) -> np.ndarray:
    return records.records.reshape(len(records), -1) / 255


def measure_by(learner: Callable[[int, int], Train]) -> Measure:
    """`self_training_accuracy` with `learner(num_classes, seed)`."""
    return lambda samples, context: self_training_accuracy(samples, context, learner)


def others(cnn: Metric) -> dict[str, Metric]:
    """The measure that a CNN takes, taken by the paper's two other learners."""
    learners = {"logistic_regression": ("logistic regression", logistic_regression_of), "mlp": ("two-layer network", mlp_of)}
    return {
        f"{cnn.name}_{name}": replace(
            cnn,
            name=f"{cnn.name}_{name}",
            title=f"{cnn.title}, {words}",
            function=measure_by(learner),
            description=cnn.description.replace("small convolutional network", words),
        )
        for name, (words, learner) in learners.items()
    }


def self_training_accuracy(samples: Records, context: Context, learner: Callable[[int, int], Train] = cnn_of) -> Measurement:
    """Accuracy on held-out records of a learner from few public labels and the samples without theirs, with Wilson's interval."""
    dataset, public = context.dataset, context.public
    assert public is not None  # what `needs` asks for
    labelled = few_labels(public, context.seed)
    result = self_trained(labelled, samples, learner(dataset.facts.num_classes, context.seed))
    truth = labels_of(dataset.held_out, dataset.facts.num_classes)
    alone, value = (float(np.mean(model.predict(dataset.held_out) == truth)) for model in (result.first_classifier, result.last_classifier))
    note = f"{READING} {result.num_synthetic} of {len(samples)} images joined; the {len(labelled)} public labels alone give {alone:.3f}."
    return Measurement(value, wilson(value, len(truth)), f"pixels, {len(labelled)} labels of {public.facts.name}", note)
