"""Which method is proposed for images of one's own, by public facts alone: nothing is asked of a record, so that choosing costs nothing."""

from dataclasses import dataclass

from workbench.datasets import DATASETS
from workbench.datasets.base import DatasetFacts
from workbench.methods.cluster_moments.method import ClusterMoments, frequencies_above_noise
from workbench.methods.private_classifier.method import PrivateClassifier

MANY = 250  # records of a class, from which on LEAST frequencies of a side above the noise suffice, else ENOUGH or half of them
LEAST, ENOUGH = 3, 6


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
    shorter = min(facts.shape[1:])
    seen = min(frequencies_above_noise(facts, epsilon, delta), shorter)
    enough = LEAST if facts.num_records >= MANY * facts.num_classes else min(ENOUGH, shorter // 2)
    setting = f"{facts.num_records} records of {facts.shape[0]} x {facts.shape[1]} x {facts.shape[2]} at epsilon {epsilon:g}"
    if facts.num_classes < 2 or not least <= shorter <= max(facts.shape[1:]) <= most:
        return Proposal(ClusterMoments.name, "It needs no classes and no public images.")
    if seen >= enough:
        return Proposal(
            ClusterMoments.name, f"{setting} leave {seen} frequencies of each side above the noise, and it rests on nothing public."
        )
    return Proposal(
        PrivateClassifier.name,
        f"{setting} leave only {seen} frequencies of each side above the noise: too few for shapes of any place and colour, while a "
        "classifier can still be learned, which chooses among public images. Where classes differ on average, as in brightness or place, "
        f"{ClusterMoments.name} may teach more.",
    )
