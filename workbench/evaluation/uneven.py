"""Measures of classifiers that uneven classes cannot flatter, beside accuracy: trained on samples, tested on held-out records."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.evaluation.context import Context, Measurement, Metric
from workbench.evaluation.distances import bootstrap_error
from workbench.evaluation.downstream import Chances, logistic_regression
from workbench.evaluation.intervals import normal, wilson
from workbench.evaluation.learners import labels_of
from workbench.evaluation.metrics import share_of_classes
from workbench.records import KINDS, Records

Score = Callable[[np.ndarray, np.ndarray], float]  # (truth (N,), chances (N, classes)) -> a number between 0 and 1


def balanced_accuracy(truth: np.ndarray, chances: np.ndarray) -> float:
    """The mean over classes of the share of their records that are put into them."""
    right = chances.argmax(axis=1) == truth
    return float(np.mean([right[truth == label].mean() for label in np.unique(truth)]))


def area(truth: np.ndarray, chances: np.ndarray) -> float:
    """The area under the ROC curve: of two classes; of more the mean over each against all others."""
    from sklearn.metrics import roc_auc_score

    labels = np.unique(truth)
    classes = labels[-1:] if len(labels) == 2 else labels
    return float(np.mean([roc_auc_score(truth == label, chances[:, label]) for label in classes])) if len(labels) > 1 else 0.5


def f1(truth: np.ndarray, chances: np.ndarray) -> float:
    """The harmonic mean of precision and recall: of the rarer of two classes; of more the mean over all."""
    labels, counts = np.unique(truth, return_counts=True)
    classes = [labels[counts.argmin()]] if len(labels) == 2 else labels
    said = chances.argmax(axis=1)
    values = [2 * np.sum((said == label) & (truth == label)) / max(np.sum(said == label) + np.sum(truth == label), 1) for label in classes]
    return float(np.mean(values))


class NamedScore(NamedTuple):
    """A score, what it is called, and what guessing gives."""

    score: Score
    title: str
    description: str
    chance: Callable[[DatasetFacts], float | None]


TOLD = {
    "balanced_accuracy": NamedScore(balanced_accuracy, "Balanced accuracy", "Mean over classes of the accuracy on each", share_of_classes),
    "auc": NamedScore(area, "AUC", "Area under the ROC curve (of each class against all others, on average)", lambda _facts: 0.5),
    "f1": NamedScore(f1, "F1", "F1 of the rarer class (of more than two, the mean over all)", lambda _facts: None),
}


def measures(learner: str, words: str, chances: Chances) -> dict[str, Metric]:
    """The three of a classifier, by name."""
    return {f"{name}_{learner}": _metric(f"{name}_{learner}", entry, words, chances) for name, entry in TOLD.items()}


def _metric(name: str, entry: NamedScore, words: str, chances: Chances) -> Metric:
    def measure(samples: Records, context: Context) -> Measurement:
        truth, probabilities = (
            labels_of(context.dataset.held_out, context.dataset.facts.num_classes),
            held_out_chances(chances, samples, context),
        )
        value = entry.score(truth, probabilities)

        def of_rows(places: np.ndarray) -> float:
            return entry.score(truth[places], probabilities[places])

        error = bootstrap_error(of_rows, np.arange(len(truth)), context.seed)
        return Measurement(value, normal(value, error, 0.0, 1.0), context.dataset.facts.kind.feature_label)

    return Metric(
        name=name,
        title=f"{entry.title}, {words}",
        kinds=frozenset({"table"}),
        function=measure,
        description=f"{entry.description} of held-out real records, by {words} trained on the samples.",
        better="higher",
        touches=frozenset({"held_out"}),
        needs="labels",
        chance=entry.chance,
        is_fraction=True,
        in_features=False,
    )


def worst_class(samples: Records, context: Context) -> Measurement:
    """The least share of a class's held-out records that is put into it; Wilson's interval of that class, and all classes in the note."""
    facts = context.judged_dataset.facts
    truth = labels_of(context.judged_dataset.held_out, facts.num_classes)
    if not len(truth):
        raise WorkbenchError(f"Expected held-out records to test on, {facts.name} has none.")
    judged = context.as_judged(samples)
    right = logistic_regression(judged, context.judged_dataset.held_out, context.judged_dataset, context.seed) == truth
    shares = {int(label): float(right[truth == label].mean()) for label in np.unique(truth)}
    worst = min(shares, key=lambda label: shares[label])
    held_out = np.bincount(truth, minlength=facts.num_classes)
    by_class = ", ".join(f"{facts.classes[label]}: {share:.2f} (of {held_out[label]})" for label, share in shares.items())
    note = f"Of {facts.classes[worst]}, the class that is served worst. Of each class, with its held-out records: {by_class}."
    return Measurement(shares[worst], wilson(shares[worst], int(held_out[worst])), facts.kind.feature_label, note)


WORST_CLASS = Metric(
    name="worst_class_logistic_regression",
    title="Accuracy on the worst class, logistic regression",
    kinds=frozenset(KINDS),
    function=worst_class,
    description="Accuracy on the held-out real records of the class that is served worst, by logistic regression trained on the samples.",
    better="higher",
    touches=frozenset({"held_out"}),
    needs="labels",
    chance=share_of_classes,
    is_fraction=True,
    in_features=False,
    by_attribute=True,
    by_name=True,
)


def held_out_chances(chances: Chances, samples: Records, context: Context) -> np.ndarray:
    """The chances (N, classes) of held-out records by a classifier of these samples, which learns once for all scores."""
    assert samples.labels is not None  # what `needs` asks for
    digest = hashlib.blake2b(samples.records.tobytes() + samples.labels.tobytes(), digest_size=16).hexdigest()
    key = f"{chances.__name__} {digest}"
    if key not in context.chances:
        context.chances[key] = chances(samples, context.dataset.held_out, context.dataset, context.seed)
    return context.chances[key]
