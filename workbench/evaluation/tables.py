"""Measures of tables alone: marginals, associations, the closest records, and whether a classifier can tell samples apart."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from workbench.datasets.base import Dataset
from workbench.evaluation import cells
from workbench.evaluation.context import Context, Measure, Measurement, Metric
from workbench.evaluation.distances import bootstrap_error
from workbench.evaluation.intervals import normal
from workbench.records import Records, TableKind

Shares = list[np.ndarray]
FOLDS, TREES, LEAST_LEAF = 5, 100, 5
MOST_COMPARED = 1_000  # samples, and records on either side, whose differences are all counted
SPLITS = 50


def distance_metric(name: str, title: str, function: Measure, description: str, **more: Any) -> Metric:
    """A measure between 0 and 1 of how far samples are from held-out rows, 0 for the same."""
    return Metric(
        name=name,
        title=title,
        kinds=frozenset({"table"}),
        function=function,
        description=description,
        better="lower",
        touches=frozenset({"held_out"}),
        is_fraction=True,
        in_features=False,
        **more,
    )


def one_way_marginals(samples: Records, context: Context) -> Measurement:
    """Mean total variation distance between the shares of each column's categories among samples and held-out records, the class too."""
    return Measurement(*_summary_distance(samples, context, _one_way, _variation), _label(context.dataset))


def two_way_marginals(samples: Records, context: Context) -> Measurement:
    """The same of every pair of columns, the class one of them; the note says what independent columns come to."""
    estimate = _summary_distance(samples, context, _two_way, _variation)
    rows, sizes = _rows(context.dataset.held_out, context.dataset)
    apart = [np.outer(*pair) for pair in combinations(_one_way(rows, sizes), 2)]
    worst = cells.worst_of(*cells.cell_distances(samples, context, 2))
    note = f"{worst} Independent columns with the held-out records' own shares come to {_variation(apart, _two_way(rows, sizes)):.3f}."
    return Measurement(*estimate, _label(context.dataset), note)


def pairwise_associations(samples: Records, context: Context) -> Measurement:
    """Mean absolute difference of Cramer's V between samples and held-out records over all pairs of columns, the class one of them."""

    def associations(rows: np.ndarray, sizes: tuple[int, ...]) -> Shares:
        return [np.array([cramers_v(joint)]) for joint in _two_way(rows, sizes)]

    estimate = _summary_distance(
        samples, context, associations, lambda ones, others: float(np.mean(np.abs(np.array(ones) - np.array(others))))
    )
    return Measurement(*estimate, _label(context.dataset))


def closest_record(samples: Records, context: Context) -> Measurement:
    """How many columns nearer the closest training record is than the closest of equally many held-out ones, on average.

    Of at most 1 000 samples and as many records on either side; the interval is the spread over which of these were trained on.
    """
    dataset, generator = context.dataset, np.random.default_rng([context.seed, 2])
    size = min(len(dataset.train), len(dataset.held_out), MOST_COMPARED)
    chosen = samples.take(np.sort(generator.permutation(len(samples))[:MOST_COMPARED]))
    parts = [part.records[np.sort(generator.permutation(len(part))[:size])] for part in (dataset.train, dataset.held_out)]
    differing = differing_columns(chosen.records, np.concatenate(parts))
    is_train = np.repeat([True, False], size)
    splits = [generator.permutation(is_train) for _ in range(SPLITS)]
    value, error = nearer_by(differing, is_train), float(np.std([nearer_by(differing, split) for split in splits], ddof=1))
    rows = {row.tobytes() for row in dataset.train.records}
    copies = float(np.mean([row.tobytes() in rows for row in samples.records]))
    note = (
        f"Columns that differ from the closest of {size}: training {differing[:, is_train].min(axis=1).mean():.3f}, held-out "
        f"{differing[:, ~is_train].min(axis=1).mean():.3f}; no copying gives 0. {copies:.1%} of the samples are training rows."
    )
    return Measurement(value, normal(value, error), _label(dataset), note)


def detection(samples: Records, context: Context) -> Measurement:
    """Area under the ROC curve of a random forest that tells samples from held-out records, over 5 folds; Hanley and McNeil's error."""
    dataset = context.dataset
    generator = np.random.default_rng([context.seed, 3])
    size = min(len(samples), len(dataset.held_out))
    if size < FOLDS:
        return Measurement(0.5, None, _label(dataset), f"Too few to tell apart: {size} of each, where {FOLDS} folds need as many.")
    parts = [part.take(np.sort(generator.permutation(len(part))[:size])) for part in (samples, dataset.held_out)]
    features = [_with_class(part, dataset, samples.labels is not None) for part in parts]
    value = _told_apart(np.concatenate(features), np.repeat([1, 0], size), context.seed)
    note = f"{size} of each; 0.5 where they cannot be told apart."
    return Measurement(value, normal(value, area_error(value, size), 0.0, 1.0), _label(dataset), note)


def cramers_v(joint: np.ndarray) -> float:
    """Cramer's V of the shares of pairs (rows, columns): 0 for independent columns, 1 where each gives the other; 0 for a constant one."""
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    squared = np.divide((joint - expected) ** 2, expected, out=np.zeros_like(joint), where=expected > 0).sum()
    fewest = min((joint.sum(axis=1) > 0).sum(), (joint.sum(axis=0) > 0).sum())
    return float(np.sqrt(squared / (fewest - 1))) if fewest > 1 else 0.0


def area_error(area: float, size: int) -> float:
    """Standard error of the area under a ROC curve of `size` records on either side (Hanley and McNeil 1982)."""
    alike, other = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (size - 1) * (alike + other - 2 * area**2)) / size**2
    return float(np.sqrt(max(variance, 0.0)))


def differing_columns(rows: np.ndarray, base: np.ndarray) -> np.ndarray:
    """In how many columns each of the rows (N, columns) differs from each of the base (M, columns): int64 (N, M)."""
    pairs = zip(rows.T, base.T, strict=True)
    return np.asarray(sum(np.not_equal.outer(column, other).astype(np.int64) for column, other in pairs))


def nearer_by(differing: np.ndarray, chosen: np.ndarray) -> float:
    """By how many columns the closest of the chosen records is nearer than the closest of the others, on average."""
    return float(np.mean(differing[:, ~chosen].min(axis=1) - differing[:, chosen].min(axis=1)))


def _summary_distance(
    samples: Records,
    context: Context,
    summary: Callable[[np.ndarray, tuple[int, ...]], Shares],
    distance: Callable[[Shares, Shares], float],
) -> tuple[float, tuple[float, float] | None]:
    """The distance of two summaries, and its spread over resamples of the samples."""
    dataset = context.dataset
    held_out = dataset.held_out if samples.labels is not None else replace(dataset.held_out, labels=None)
    rows, sizes = _rows(samples, dataset)
    reference = summary(_rows(held_out, dataset)[0], sizes)

    def value(chosen: np.ndarray) -> float:
        return distance(summary(chosen, sizes), reference)

    estimate = value(rows)
    return estimate, normal(estimate, bootstrap_error(value, rows, context.seed), low=0.0)


def _rows(records: Records, dataset: Dataset) -> tuple[np.ndarray, tuple[int, ...]]:
    """Rows with their class, int64 (N, columns), and how many categories each column has."""
    sizes = TableKind.of(dataset.facts.kind).categories
    if records.labels is None or not dataset.facts.classes:
        return records.records, sizes
    return np.concatenate([records.records, records.labels[:, None]], axis=1), (*sizes, dataset.facts.num_classes)


def _one_way(rows: np.ndarray, sizes: tuple[int, ...]) -> Shares:
    return [np.bincount(column, minlength=size) / len(rows) for column, size in zip(rows.T, sizes, strict=False)]


def _two_way(rows: np.ndarray, sizes: tuple[int, ...]) -> Shares:
    """Shares of the pairs of categories of every two columns."""
    shares = []
    for first, second in combinations(range(rows.shape[1]), 2):
        cells = np.bincount(rows[:, first] * sizes[second] + rows[:, second], minlength=sizes[first] * sizes[second])
        shares.append(cells.reshape(sizes[first], sizes[second]) / len(rows))
    return shares


def _variation(ones: Shares, others: Shares) -> float:
    return float(np.mean([np.abs(one - other).sum() / 2 for one, other in zip(ones, others, strict=True)]))


def _with_class(records: Records, dataset: Dataset, labelled: bool) -> np.ndarray:
    """One-hot rows, the class beside them where samples have one."""
    features = dataset.facts.kind.features(records.records)
    return np.concatenate([features, records.labels[:, None]], axis=1) if labelled and records.labels is not None else features


def _told_apart(features: np.ndarray, made: np.ndarray, seed: int) -> float:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    forest = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=LEAST_LEAF, n_jobs=2, random_state=seed)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    chances = np.asarray(cross_val_predict(forest, features, made, cv=folds, method="predict_proba"))
    return float(roc_auc_score(made, chances[:, 1]))


def _label(dataset: Dataset) -> str:
    return dataset.facts.kind.feature_label
