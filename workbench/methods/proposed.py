"""Which method is proposed for images of one's own, by public facts alone: nothing is asked of a record, so that choosing costs nothing."""

from dataclasses import dataclass

from workbench.datasets import DATASETS
from workbench.datasets.base import DatasetFacts
from workbench.methods.cluster_moments.method import ClusterMoments, frequencies_above_noise
from workbench.methods.private_classifier.method import PrivateClassifier

ENOUGH = 6  # frequencies of each side, from which on moments of the records' own show more than public images can be told to


@dataclass(frozen=True)
class Proposal:
    """A method by name, and why."""

    method: str
    reason: str


def proposed_for_images(facts: DatasetFacts, epsilon: float, delta: float) -> Proposal:
    """The records' own moments where so many records at such an epsilon leave enough of them above the noise, else what classifies.

    Moments rest on nothing public, so no unlike public images can spoil them; a classifier needs fewer records, at least two classes and
    a size that `processes` are drawn at.
    """
    least, most = DATASETS["processes"].sides
    seen = min(frequencies_above_noise(facts, epsilon, delta), *facts.shape[1:])
    setting = f"{facts.num_records} records of {facts.shape[0]} x {facts.shape[1]} x {facts.shape[2]} at epsilon {epsilon:g}"
    if facts.num_classes < 2 or not least <= min(facts.shape[1:]) <= max(facts.shape[1:]) <= most:
        return Proposal(ClusterMoments.name, "It needs no classes and no public images.")
    if seen >= min(ENOUGH, *facts.shape[1:]):
        return Proposal(
            ClusterMoments.name, f"{setting} leave {seen} frequencies of each side above the noise, and it rests on nothing public."
        )
    return Proposal(
        PrivateClassifier.name,
        f"{setting} leave only {seen} frequencies of each side above the noise: too few for images of their own, while a classifier can "
        "still be learned, which chooses among public images.",
    )
