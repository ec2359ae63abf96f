"""What measures share: the context that they are taken in, what they find, and what the registry says of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Literal

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.evaluation.cache import Cache
from workbench.evaluation.distances import FrechetReference, moments
from workbench.evaluation.features import FeatureSpace, pixels, remembered_classifier
from workbench.evaluation.learners import Classifier
from workbench.evaluation.nearest import Report, ignore_progress
from workbench.evaluation.protocols import OWN
from workbench.records import Records

Split = Literal["train", "held_out"]
Bits = Callable[[Records, int], np.ndarray]  # (records, seed) -> bits per dimension (N,) that the samples' model needs at most
Classes = Callable[[Records], np.ndarray]  # records -> the class (N,) that a classifier which was released gives each
Terms = Callable[[Records, int], Mapping[str, np.ndarray]]  # (records, seed) -> the nats of each term of the model's bound, (N,) each


@dataclass
class Context:
    """What measures share: dataset, feature space, seed, public records and the samples' model if any, and what is computed once.

    `attribute` takes the classes' place where a measure judges by an attribute. `report` is told the share of a measure that is done.
    """

    dataset: Dataset
    make_space: Callable[[], FeatureSpace]  # called when a measure first asks: it may train a classifier
    seed: int
    cache: Cache
    attribute: str | None = None
    public: Dataset | None = None
    bits: Bits | None = None
    terms: Terms | None = None
    classes: Classes | None = None
    report: Report = ignore_progress
    chances: dict[str, np.ndarray] = field(default_factory=dict)  # of held-out records' classes, by classifier and samples

    @cached_property
    def space(self) -> FeatureSpace:
        """The feature space that records are compared in."""
        return self.make_space()

    def key_of(self, label: str) -> str:
        """The key of the feature space called `label`: the label itself, unless it is the one made here."""
        made: FeatureSpace | None = self.__dict__.get("space")
        return made.key if made is not None and made.label == label else label

    @cached_property
    def train_features(self) -> np.ndarray:
        """Features (N, D) of the training records."""
        return self.space(self.dataset.train)

    @cached_property
    def held_out_features(self) -> np.ndarray:
        """Features (M, D) of the held-out records."""
        return self.space(self.dataset.held_out)

    @cached_property
    def frechet_reference(self) -> FrechetReference:
        """Mean and covariance of the held-out features."""
        return FrechetReference(
            self.cache.moments((self.space.key, "held_out", self._records_key), lambda: moments(self.held_out_features))
        )

    @cached_property
    def frechet_reference_of_training(self) -> FrechetReference:
        """Mean and covariance of the training features."""
        return FrechetReference(self.cache.moments((self.space.key, "train", self._records_key), lambda: moments(self.train_features)))

    @cached_property
    def _records_key(self) -> str:
        return self.cache.dataset_key(self.dataset)

    @cached_property
    def clean_classifier(self) -> Classifier:
        """A classifier of clean images, trained on the private training records apart from any that made the features."""
        return remembered_classifier(self.dataset, self.seed + 1, self.cache)

    @cached_property
    def judged_dataset(self) -> Dataset:
        """The dataset with what is judged as its classes: the attribute, where one is asked for."""
        return self.dataset.labelled_by(self.attribute) if self.attribute else self.dataset

    def as_judged(self, samples: Records) -> Records:
        """`samples` labelled by what is judged, without labels where they don't tell it."""
        return self.dataset.facts.relabelled(samples, self.attribute) if self.attribute else samples

    @cached_property
    def judge(self) -> Classifier:
        """A classifier of clean images that tells the classes of `judged_dataset` apart, trained as `clean_classifier` is."""
        return remembered_classifier(self.judged_dataset, self.seed + 1, self.cache) if self.attribute else self.clean_classifier

    @cached_property
    def exchangeable(self) -> "Context":
        """This context, or one over pixels where the feature space was made from the training records."""
        return Context(self.dataset, lambda: pixels(self.dataset), self.seed, self.cache) if self.space.private else self

    def refusal(self, metric: "Metric") -> str | None:
        """Why there is not what `metric` needs beside samples; None if there is."""
        facts, public = self.dataset.facts, self.public
        if metric.needs == "public labels" and (public is None or public.facts.classes != facts.classes):
            reason = "there are none" if public is None else f"{public.facts.name} has others"
            return f"{metric.name} needs public images of the classes of {facts.name}; {reason}."
        if metric.needs == "model" and self.bits is None:
            return f"{metric.name} needs a model that tells the bits of a record, such as chu-dpdm's; there is none."
        if metric.needs == "terms" and self.terms is None:
            return f"{metric.name} needs a model that tells the terms of its bound, such as ddm's; there is none."
        if metric.needs == "classifier" and self.classes is None:
            return f"{metric.name} needs a run that released a classifier, such as private-classifier's; there is none."
        return None

    def undefined_reason(self, metric: "Metric", samples: Records) -> str | None:
        """Why `metric` cannot be taken of such samples, by the attribute where it is judged by one; None if it can."""
        if not (metric.by_attribute and self.attribute):
            return metric.refusal(self.dataset.facts, samples)
        return metric.refusal(self.dataset.facts.labelled_by(self.attribute), self.as_judged(samples))

    def real_records(self, count: int) -> Records:
        """At most `count` training records, drawn by the seed: what the ceiling puts in the place of samples."""
        order = np.random.default_rng(self.seed).permutation(len(self.dataset.train))
        return self.dataset.train.take(order[:count])


@dataclass(frozen=True)
class Measurement:
    """A measure's value: `interval` is 95 % or None, `features` says in which space it was taken.

    `private`: whether a private record went into the feature space, or into what judges in it; True unless known not to.
    """

    value: float
    interval: tuple[float, float] | None
    features: str
    note: str = ""
    private: bool = True


Measure = Callable[[Records, Context], Measurement]


@dataclass(frozen=True)
class Metric:
    """An entry of METRICS.

    `title`: what an axis says, with the feature space behind it unless the measure is taken of the records themselves
    (`in_features` False). `touches`: the private records that the measure itself looks at, beside the samples and its feature
    space; a value is releasable only where that is none. `needs`: "nothing", "classes" (of the dataset), "labels" (of the
    samples too), "public labels" (of public records of the same classes), "model" (which tells the bits of a record), "terms" (which
    tells the terms of its bound) or "classifier" (which the run released). `chance`:
    what guessing gives, None where that means nothing. `is_accuracy`: the share of held-out records that are put into their class, so
    that the share of their largest class stands beside it. `is_fraction`: values lie between 0 and 1. `by_attribute`: an attribute may
    take the classes' place. `by_name`: so dear that it is taken only where it is asked for by name. `protocol`: a name of PROTOCOLS.
    `beside`: the measure on whose axis it stands, the same by another protocol. `package`: a library that it needs and few have.
    """

    name: str
    title: str
    kinds: frozenset[str]
    function: Measure
    description: str
    better: Literal["higher", "lower"]
    touches: frozenset[Split]
    unit: str = ""
    needs: Literal["nothing", "classes", "labels", "public labels", "model", "terms", "classifier"] = "nothing"
    chance: Callable[[DatasetFacts], float | None] = lambda _facts: None
    is_accuracy: bool = False
    is_fraction: bool = False
    in_features: bool = True
    by_attribute: bool = False
    by_name: bool = False
    protocol: str = OWN
    beside: str = ""
    package: str = ""

    @property
    def is_of_model(self) -> bool:
        """Whether it is of the samples' model alone: records in the place of samples have no such value."""
        return self.needs in ("model", "terms", "classifier")

    @property
    def split(self) -> str:
        """The private records it touches as words of a table: train, held_out, train+held_out or none."""
        return "+".join(name for name in ("train", "held_out") if name in self.touches) or "none"

    def releases(self, measurement: "Measurement") -> bool:
        """Whether `measurement` may leave the room for all that the measure does: no private record went into it."""
        return not self.touches and not measurement.private

    def refusal(self, facts: DatasetFacts, samples: Records) -> str | None:
        """Why the measure cannot be taken of such samples; None if it can, with what else it needs (`Context.refusal`)."""
        if facts.kind.name not in self.kinds:
            return f"{self.name} takes data of kind {', '.join(sorted(self.kinds))}; {facts.name} is of kind {facts.kind.name}."
        if self.needs != "nothing" and not facts.classes:
            return f"{self.name} needs classes; {facts.name} has none."
        if self.needs == "labels" and samples.labels is None:
            return f"{self.name} needs labelled samples; these carry no labels."
        if self.package and find_spec(self.package) is None:
            how = f"pip install {self.package}, or in a checkout pip install -e '.[{self.protocol}]'"
            return f"{self.name} needs {self.package}, which is not installed: {how}."
        return None


def measures_of(protocol: str, metrics: Mapping[str, Metric], kind: str) -> list[str]:
    """The names among `metrics` that a protocol takes of a kind of data."""
    return [name for name, metric in metrics.items() if metric.protocol == protocol and kind in metric.kinds]
