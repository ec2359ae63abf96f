"""The measures: from samples and a context to a value with its interval, and what it was computed against."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.evaluation.cache import Cache
from workbench.evaluation.distances import (
    ENOUGH_FOR_FRECHET,
    FrechetReference,
    bootstrap_error,
    inception_style_score,
    kernel_distance,
    kernel_distance_error,
)
from workbench.evaluation.downstream import Learner, accuracy
from workbench.evaluation.features import FeatureSpace, pixels, remembered_classifier
from workbench.evaluation.intervals import normal, wilson
from workbench.evaluation.learners import Classifier, labels_of
from workbench.evaluation.neighbours import PRIVACY_SCORE_CAVEAT, nearer_to_training, privacy_score
from workbench.records import Records

Split = Literal["train", "held_out"]
UNBALANCED = 1.2  # times its even share: the most frequent value above which an attribute is out of balance
Bits = Callable[[Records, int], np.ndarray]  # (records, seed) -> bits per dimension (N,) that the samples' model needs at most
Terms = Callable[[Records, int], Mapping[str, np.ndarray]]  # (records, seed) -> the nats of each term of the model's bound, (N,) each
MOST_BOUNDED = 200  # records whose bits are counted: each takes as many passes as there are time steps


@dataclass
class Context:
    """What measures share: dataset, feature space, seed, public records and the samples' model if any, and what is computed once.

    `attribute` takes the classes' place where a measure judges by an attribute.
    """

    dataset: Dataset
    make_space: Callable[[], FeatureSpace]  # called when a measure first asks: it may train a classifier
    seed: int
    cache: Cache
    attribute: str | None = None
    public: Dataset | None = None
    bits: Bits | None = None
    terms: Terms | None = None

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
        return FrechetReference(self.held_out_features)

    @cached_property
    def clean_classifier(self) -> Classifier:
        """A classifier of clean images, trained on the private training records apart from any that made the features."""
        return remembered_classifier(self.dataset, self.seed + 1, self.cache)

    @cached_property
    def judged(self) -> Dataset:
        """The dataset with what is judged as its classes: the attribute, where one is asked for."""
        return self.dataset.labelled_by(self.attribute) if self.attribute else self.dataset

    def as_judged(self, samples: Records) -> Records:
        """`samples` labelled by what is judged, without labels where they don't tell it."""
        return self.dataset.facts.told(samples, self.attribute) if self.attribute else samples

    @cached_property
    def judge(self) -> Classifier:
        """A classifier of clean images that tells the classes of `judged` apart, trained as `clean_classifier` is."""
        return remembered_classifier(self.judged, self.seed + 1, self.cache) if self.attribute else self.clean_classifier

    @cached_property
    def exchangeable(self) -> "Context":
        """This context, or one over pixels where the feature space was made from the training records."""
        return Context(self.dataset, lambda: pixels(self.dataset), self.seed, self.cache) if self.space.private else self

    def refusal(self, metric: "Metric") -> str | None:
        """Why there is not what `metric` needs beside samples; None if there is."""
        facts, public = self.dataset.facts, self.public
        if metric.needs == "public labels" and (public is None or public.facts.classes != facts.classes):
            found = "there are none" if public is None else f"{public.facts.name} has others"
            return f"{metric.name} needs public images of the classes of {facts.name}; {found}."
        if metric.needs == "model" and self.bits is None:
            return f"{metric.name} needs a model that tells the bits of a record, such as chu-dpdm's; there is none."
        if metric.needs == "terms" and self.terms is None:
            return f"{metric.name} needs a model that tells the terms of its bound, such as ddm's; there is none."
        return None

    def undefined(self, metric: "Metric", samples: Records) -> str | None:
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
    samples too), "public labels" (of public records of the same classes), "model" (which tells the bits of a record) or "terms" (which
    tells the terms of its bound). `chance`:
    what guessing gives, None where that means nothing. `is_fraction`: values lie between 0 and 1. `by_attribute`: an attribute may
    take the classes' place. `by_name`: so dear that it is taken only where it is asked for by name.
    """

    name: str
    title: str
    kinds: frozenset[str]
    function: Measure
    description: str
    better: Literal["higher", "lower"]
    touches: frozenset[Split]
    unit: str = ""
    needs: Literal["nothing", "classes", "labels", "public labels", "model", "terms"] = "nothing"
    chance: Callable[[DatasetFacts], float | None] = lambda _facts: None
    is_fraction: bool = False
    in_features: bool = True
    by_attribute: bool = False
    by_name: bool = False

    @property
    def is_of_model(self) -> bool:
        """Whether it is of the samples' model alone: records in the place of samples have no such value."""
        return self.needs in ("model", "terms")

    @property
    def split(self) -> str:
        """The private records it touches as words of a table: train, held_out, train+held_out or none."""
        return "+".join(name for name in ("train", "held_out") if name in self.touches) or "none"

    def releases(self, found: "Measurement") -> bool:
        """Whether `found` may leave the room for all that the measure does: no private record went into it."""
        return not self.touches and not found.private

    def refusal(self, facts: DatasetFacts, samples: Records) -> str | None:
        """Why the measure cannot be taken of such samples; None if it can, with what else it needs (`Context.refusal`)."""
        if facts.kind.name not in self.kinds:
            return f"{self.name} takes data of kind {', '.join(sorted(self.kinds))}; {facts.name} is of kind {facts.kind.name}."
        if self.needs != "nothing" and not facts.classes:
            return f"{self.name} needs classes; {facts.name} has none."
        if self.needs == "labels" and samples.labels is None:
            return f"{self.name} needs labelled samples; these carry no labels."
        return None


def share_of_classes(facts: DatasetFacts) -> float | None:
    """The accuracy of guessing evenly."""
    return 1 / facts.num_classes if facts.classes else None


def downstream_accuracy(name: str, title: str, kinds: frozenset[str], learner: Learner, words: str) -> Metric:
    """The accuracy of `learner` (in `words`) trained on samples and tested on held-out records, with Wilson's interval over those."""

    def measure(samples: Records, context: Context) -> Measurement:
        value = accuracy(learner, context.as_judged(samples), context.judged, context.seed)
        features = pixels(context.dataset).label
        return Measurement(value, wilson(value, len(context.dataset.held_out)), features)

    return Metric(
        name=name,
        title=title,
        kinds=kinds,
        function=measure,
        description=f"Accuracy on held-out real records of a {words} trained on the samples.",
        better="higher",
        touches=frozenset({"held_out"}),
        needs="labels",
        chance=share_of_classes,
        is_fraction=True,
        in_features=False,
        by_attribute=True,
    )


def variational_bound(_samples: Records, context: Context) -> Measurement:
    """Mean bits per dimension of at most 200 held-out records, drawn by the seed, under the samples' model."""
    held_out = context.dataset.held_out
    chosen = np.random.default_rng(context.seed).permutation(len(held_out))[:MOST_BOUNDED]
    assert context.bits is not None  # what `needs` asks for
    bits = context.bits(held_out.take(chosen), context.seed)
    error = float(bits.std(ddof=1)) / len(bits) ** 0.5
    note = f"Of the model, over {len(bits)} held-out records with their labels; the samples are not looked at."
    return Measurement(float(bits.mean()), normal(float(bits.mean()), error, low=0.0), "pixels", note)


def frechet(samples: Records, context: Context) -> Measurement:
    """Frechet distance to the held-out records; the interval is the spread over 20 resamples of the samples, not the bias."""
    features = context.space(samples)
    value = context.frechet_reference.distance(features)
    error = bootstrap_error(context.frechet_reference.distance, features, context.seed)
    sizes = len(samples), len(context.dataset.held_out)
    note = f"{sizes[0]} samples against {sizes[1]} held-out records; biased upwards, comparable at equal sizes only."
    if min(sizes) < ENOUGH_FOR_FRECHET:
        note += f" Fewer than {ENOUGH_FOR_FRECHET}: the bias may outweigh the differences, trust kernel_distance more."
    return Measurement(value, normal(value, error, low=0.0), context.space.label, note)


def kernel(samples: Records, context: Context) -> Measurement:
    """Kernel distance to the held-out records; unbiased, so values at different sizes compare."""
    features = context.space(samples)
    value = kernel_distance(features, context.held_out_features)
    error = kernel_distance_error(features, context.held_out_features, context.seed)
    return Measurement(value, normal(value, error), context.space.label, "Unbiased; may be slightly negative.")


def inception(samples: Records, context: Context) -> Measurement:
    """Inception-style score by the feature space's classifier, or by the clean one where the space has none."""
    own = context.space.classifier
    source = context.space.label if own else f"classifier (trained on {context.dataset.facts.name})"
    probabilities = (own or context.clean_classifier).probabilities(samples)
    value = inception_style_score(probabilities)
    error = bootstrap_error(inception_style_score, probabilities, context.seed)
    note = "Not the Inception Score: another classifier, no splits."
    return Measurement(value, normal(value, error, low=1.0), source, note, private=own is None or context.space.private)


def privacy(samples: Records, context: Context) -> Measurement:
    """P3DM's privacy score against the training records, with Wilson's interval."""
    features, classify = context.space(samples), context.judge.predict
    value = privacy_score(samples, context.dataset.train, features, context.train_features, classify)
    note = " ".join(filter(None, [PRIVACY_SCORE_CAVEAT, balance_note(context, classify(samples))]))
    return Measurement(value, wilson(value, len(samples)), context.space.label, note)


def balance_note(context: Context, judged: np.ndarray) -> str:
    """How often an attribute has each value among training records and samples; a warning where it is out of balance. "" for classes."""
    if not context.attribute:
        return ""
    facts, truth = context.judged.facts, labels_of(context.judged.train, context.judged.facts.num_classes)
    parts = []
    for what, numbers in (("training records", truth), ("samples as judged", judged)):
        shares = np.bincount(numbers, minlength=facts.num_classes) / len(numbers)
        parts.append(f"{what}: {', '.join(f'{name} {share:.1%}' for name, share in zip(facts.classes, shares, strict=True))}")
    told = f"{context.attribute} of {'; of '.join(parts)}."
    most = np.bincount(truth, minlength=facts.num_classes) / len(truth)
    if most.max() <= UNBALANCED / facts.num_classes:
        return told
    rare = facts.classes[int(most.argmin())]
    return f"{told} Warning: out of balance, so that a sampler that always draws {rare} may score up to {1 - most.min():.2f}."


def nearer(samples: Records, context: Context) -> Measurement:
    """Share of samples nearer to training than to held-out records, on subsets of equal size."""
    context = context.exchangeable
    train, held_out = context.train_features, context.held_out_features
    share = nearer_to_training(context.space(samples), train, held_out, context.seed)
    note = (
        f"{share.subset_size} records on each side: no copying gives 0.5. Against all {len(train)} training and {len(held_out)} "
        f"held-out records: {share.full:.3f}, where no copying gives {share.full_expected:.3f}."
    )
    return Measurement(share.value, share.interval, context.space.label, note)
