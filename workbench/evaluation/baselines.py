"""What stands beside every measure of a table: the same of rows that are real, or made without learning how columns go together."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.evaluation.context import Context, Measurement, Metric
from workbench.records import Records

BOOTSTRAP, HALF, INDEPENDENT, MAJORITY = "bootstrap of the real rows", "half of the real rows", "independent columns", "majority class"


def stand_beside(metric: Metric, context: Context) -> bool:
    """Whether `metric` has such values here: of tables alone, by their own classes, and where it is no measure of distances in features."""
    is_table = context.dataset.facts.kind.name == "table" and not metric.is_of_model
    return is_table and context.attribute is None and (metric.needs == "labels" or metric.kinds == frozenset({"table"}))


def baselines(metric: Metric, measurement: Measurement, context: Context, count: int) -> dict[str, float]:
    """The values by name, of `count` rows each (of half the training rows where that is what they are), computed once in a workspace."""
    if not stand_beside(metric, context):
        return {}
    key = (context.cache.dataset_key(context.dataset), metric.name, count, context.seed, context.key_of(measurement.features))
    return {
        name: context.cache.value((*key, name), lambda rows=rows: metric.function(rows, context).value)
        for name, rows in rows_beside(metric, context, count)
    }


def rows_beside(metric: Metric, context: Context, count: int) -> Iterator[tuple[str, Records]]:
    """Training rows drawn with replacement, half of them, columns shuffled apart; where a classifier learns, all of one class too."""
    train, draw = context.dataset.train, np.random.default_rng([context.seed, 5])
    again = train.take(draw.integers(0, len(train), count))
    yield BOOTSTRAP, again
    yield HALF, train.take(np.sort(draw.permutation(len(train))[: max(2, len(train) // 2)]))
    yield INDEPENDENT, shuffled_columns(again, draw)
    if metric.needs == "labels" and again.labels is not None and train.labels is not None:
        yield MAJORITY, replace(again, labels=np.full(count, np.bincount(train.labels).argmax(), dtype=np.int64))


def shuffled_columns(records: Records, draw: np.random.Generator) -> Records:
    """The same records with every column, and the class, in an order of its own."""
    rows = np.stack([draw.permutation(column) for column in records.records.T], axis=1)
    return Records(rows, None if records.labels is None else draw.permutation(records.labels))
