"""The measures: from samples and a context to a value with its interval, and what it was computed against."""

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.context import Context, Measurement, Metric
from workbench.evaluation.distances import (
    ENOUGH_FOR_FRECHET,
    bootstrap_error,
    inception_score,
    inception_style_score,
    kernel_distance,
    kernel_distance_error,
)
from workbench.evaluation.downstream import Learner, accuracy
from workbench.evaluation.feature_files import is_fid
from workbench.evaluation.features import pixels
from workbench.evaluation.intervals import normal, wilson
from workbench.evaluation.learners import labels_of
from workbench.evaluation.neighbours import PRIVACY_SCORE_CAVEAT, nearer_to_training, privacy_score
from workbench.records import Records

UNBALANCED = 1.2  # times its even share: the most frequent value above which an attribute is out of balance
MOST_BOUNDED = 200  # records whose bits are counted: each takes as many passes as there are time steps


def share_of_classes(facts: DatasetFacts) -> float | None:
    """The accuracy of guessing evenly."""
    return 1 / facts.num_classes if facts.classes else None


def downstream_accuracy(name: str, title: str, kinds: frozenset[str], learner: Learner, words: str) -> Metric:
    """The accuracy of `learner` (in `words`) trained on samples and tested on held-out records, with Wilson's interval over those."""

    def measure(samples: Records, context: Context) -> Measurement:
        value = accuracy(learner, context.as_judged(samples), context.judged_dataset, context.seed)
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
        is_accuracy=True,
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


def released_classifier(_samples: Records, context: Context) -> Measurement:
    """Share of held-out records that the classifier which was released beside the samples puts into their class."""
    held_out = context.dataset.held_out
    assert context.classes is not None  # what `needs` asks for
    right = context.classes(held_out) == labels_of(held_out, context.dataset.facts.num_classes)
    note = "Of the classifier that was released; the samples are not looked at."
    return Measurement(float(right.mean()), wilson(float(right.mean()), len(right)), "pixels", note)


def frechet(samples: Records, context: Context) -> Measurement:
    """Frechet distance to the held-out records; the interval is the spread over 20 resamples of the samples, not the bias."""
    features = context.space(samples)
    value = context.frechet_reference.distance(features)
    error = bootstrap_error(context.frechet_reference.distance, features, context.seed)
    sizes = len(samples), len(context.dataset.held_out)
    note = f"{sizes[0]} samples against {sizes[1]} held-out records; biased upwards, comparable at equal sizes only."
    if min(sizes) < ENOUGH_FOR_FRECHET:
        note += f" Fewer than {ENOUGH_FOR_FRECHET}: the bias may outweigh the differences, trust kernel_distance more."
    return Measurement(value, normal(value, error, low=0.0), context.space.label, note + fid_note("frechet_distance", context.space.label))


def fid_note(measure: str, label: str) -> str:
    """What a distance in the features of this label may be called."""
    return " This is FID." if measure == "frechet_distance" and is_fid(label) else ""


def kernel(samples: Records, context: Context) -> Measurement:
    """Kernel distance to the held-out records; unbiased, so values at different sizes compare."""
    features = context.space(samples)
    value = kernel_distance(features, context.held_out_features)
    error = kernel_distance_error(features, context.held_out_features, context.seed)
    return Measurement(value, normal(value, error), context.space.label, "Unbiased; may be slightly negative.")


def inception(samples: Records, context: Context) -> Measurement:
    """The Inception Score by the standard network, else the same of the feature space's classifier, or of the clean one."""
    own = context.space.classifier
    if own is not None and is_fid(context.space.label):
        value, deviation = inception_score(own.probabilities(samples))
        note = f"This is the Inception Score: ten splits, with a standard deviation of {deviation:.3g}."
        return Measurement(value, None, context.space.label, note, private=False)
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


def agreement(samples: Records, context: Context) -> Measurement:
    """Share of samples that the judge of clean images finds to be what they carry as their label or value, with Wilson's interval."""
    labels = context.as_judged(samples).labels
    assert labels is not None  # what `needs` asks for
    value = float(np.mean(context.judge.predict(samples) == labels))
    return Measurement(value, wilson(value, len(samples)), f"classifier (trained on {context.dataset.facts.name})")


def balance_note(context: Context, judged: np.ndarray) -> str:
    """How often an attribute has each value among training records and samples; a warning where it is out of balance. "" for classes."""
    if not context.attribute:
        return ""
    facts, truth = context.judged_dataset.facts, labels_of(context.judged_dataset.train, context.judged_dataset.facts.num_classes)
    parts = []
    for what, numbers in (("training records", truth), ("samples as judged", judged)):
        shares = np.bincount(numbers, minlength=facts.num_classes) / len(numbers)
        parts.append(f"{what}: {', '.join(f'{name} {share:.1%}' for name, share in zip(facts.classes, shares, strict=True))}")
    sentence = f"{context.attribute} of {'; of '.join(parts)}."
    most = np.bincount(truth, minlength=facts.num_classes) / len(truth)
    if most.max() <= UNBALANCED / facts.num_classes:
        return sentence
    rare = facts.classes[int(most.argmin())]
    return f"{sentence} Warning: out of balance, so that a sampler that always draws {rare} may score up to {1 - most.min():.2f}."


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
