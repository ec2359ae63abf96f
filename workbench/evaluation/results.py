"""One measure's result with its ceiling and its epsilon-0 row, as pages, notebooks and the command line show it."""

import time
from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from workbench.datasets.base import Dataset
from workbench.evaluation.baselines import baselines
from workbench.evaluation.context import Context, Measurement, Metric
from workbench.evaluation.learners import labels_of
from workbench.evaluation.likeness import unlike_public
from workbench.evaluation.protocols import OWN, PROTOCOLS
from workbench.records import Records

EVENLY = "Of rows drawn evenly over the declared categories, classes too: what a generator makes that has seen no record."


class MetricResult(BaseModel):
    """A value and what it may be compared with.

    `interval` is 95 % (what it covers: the measure's docstring). `split` names the private records it looked at. `seconds`
    is the value's alone. `protocol` says how it was taken, and where that was cut down. `ceiling` is the same measure of real
    training records in the place of samples (for nearer_to_training and privacy_score: what copying gives; None for a measure
    of the model), `epsilon_zero` of samples that saw public data only: those of a public model, of tables without one rows drawn
    evenly over what is declared. `epsilon_zero_reason` says why there is none, or that it is of such rows. `public_records` is the
    measure of public records themselves, taken where the public model's samples come next to guessing: it tells whose fault that is.
    `baselines`, of tables: what a bootstrap of the real rows, half of them, independent columns and, for a classifier, the majority
    class come to, as private as a ceiling. `largest_class`, of accuracies: the share of the held-out records that are of their most
    frequent class, which whoever always guesses that one reaches; it looks at their labels, as the accuracy does.

    Every value has a mark of its own, False for whatever saw a private record, which is nearly everything: `releasable`
    speaks of `value`, `interval` and `note`, `epsilon_zero_releasable` of `epsilon_zero`; a ceiling is computed from private
    records and never releasable, and so are public records judged by private ones. In a file, a value without its mark stays in
    the room.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    value: float
    interval: tuple[float, float] | None
    num_samples: int
    features: str
    split: str
    seconds: float
    releasable: bool
    protocol: str = PROTOCOLS[OWN].title
    ceiling: float | None
    ceiling_num_samples: int
    epsilon_zero: float | None
    epsilon_zero_num_samples: int | None
    epsilon_zero_reason: str
    epsilon_zero_releasable: bool = False
    public_records: float | None = None
    public_records_releasable: Literal[False] = False
    ceiling_releasable: Literal[False] = False
    baselines: dict[str, float] = {}
    largest_class: float | None = None
    largest_class_releasable: Literal[False] = False
    chance: float | None
    better: str
    unit: str
    note: str

    def of_run(self, run_releasable: bool) -> "MetricResult":
        """The result for samples of a run: its value may leave the room only if they may."""
        return self.model_copy(update={"releasable": self.releasable and run_releasable})


def measure(
    metric: Metric, samples: Records, context: Context, public_samples: Records | None = None, public: Dataset | None = None
) -> MetricResult:
    """Take `metric` of `samples`, of real records and of `public_samples`."""
    facts = context.judged_dataset.facts if metric.by_attribute else context.dataset.facts
    taken = _in_thirds(metric, context)
    start = time.perf_counter()
    measurement = taken(samples)
    seconds = time.perf_counter() - start
    reason, zero = _epsilon_zero(metric, context, samples, public_samples, public)
    public_found = None if zero is None else taken(zero)
    ceiling, chance = _ceiling(metric, taken, measurement, context, len(samples)), metric.chance(facts)
    direct = None
    if metric.better == "higher" and public_found is not None and unlike_public(public_found.value, chance, ceiling):
        direct = _of_public_records(metric, context, len(samples), public)
    return MetricResult(
        name=metric.name,
        value=measurement.value,
        interval=measurement.interval,
        num_samples=len(samples),
        features=measurement.features,
        split=metric.split,
        seconds=round(seconds, 3),
        releasable=metric.releases(measurement),
        protocol=PROTOCOLS[metric.protocol].label(len(samples)),
        ceiling=ceiling,
        ceiling_num_samples=min(len(samples), len(context.dataset.train)),
        epsilon_zero=None if public_found is None else public_found.value,
        epsilon_zero_num_samples=None if zero is None else len(zero),
        epsilon_zero_reason=reason,
        epsilon_zero_releasable=public_found is not None and metric.releases(public_found),
        public_records=direct,
        baselines=baselines(metric, measurement, context, len(samples)),
        largest_class=_largest_class(metric, context),
        chance=chance,
        better=metric.better,
        unit=metric.unit,
        note=measurement.note,
    )


def _in_thirds(metric: Metric, context: Context) -> Callable[[Records], Measurement]:
    """The measure, which reports a third of its share each time that it is taken: of samples, of public ones, of real records."""
    report, times = context.report, iter(range(3))

    def taken(records: Records) -> Measurement:
        before = next(times)
        context.report = lambda share: report((before + share) / 3)
        return metric.function(records, context)

    return taken


def _ceiling(metric: Metric, taken: Callable[[Records], Measurement], result: Measurement, context: Context, count: int) -> float | None:
    if metric.is_of_model:
        return None
    key = (context.cache.dataset_key(context.dataset), metric.name, count, context.seed, context.key_of(result.features))
    if metric.by_attribute and context.attribute:
        key = (*key, context.attribute)
    if metric.needs == "public labels" and context.public:
        key = (*key, context.cache.fingerprint(context.public))
    return context.cache.value(key, lambda: taken(context.real_records(count)).value)


def _largest_class(metric: Metric, context: Context) -> float | None:
    """The share of held-out records of the most frequent class, or value of the attribute that is judged; None beside no accuracy."""
    if not metric.is_accuracy:
        return None
    dataset = context.judged_dataset if metric.by_attribute else context.dataset
    counts = np.bincount(labels_of(dataset.held_out, dataset.facts.num_classes))
    return float(counts.max() / counts.sum())


def _of_public_records(metric: Metric, context: Context, count: int, public: Dataset | None) -> float | None:
    """The measure of at most `count` public records in the place of samples; None where there are none of the dataset's classes."""
    if public is None or public.facts.classes != context.dataset.facts.classes:
        return None
    order = np.random.default_rng(context.seed).permutation(len(public.train))
    return metric.function(public.train.take(order[:count]), context).value


def _epsilon_zero(
    metric: Metric, context: Context, samples: Records, public_samples: Records | None, public: Dataset | None
) -> tuple[str, Records | None]:
    """What is measured beside `samples` as made of public data only, and a word on it; or None, and why."""
    facts = context.dataset.facts
    if public_samples is None and facts.kind.name == "table" and not metric.is_of_model:
        return EVENLY, facts.draw(len(samples), context.seed)
    reason = _undefined_reason(metric, context, public_samples, public)
    return reason, None if reason or public_samples is None else public_samples.take(slice(len(samples)))


def _undefined_reason(metric: Metric, context: Context, public_samples: Records | None, public: Dataset | None) -> str:
    if metric.is_of_model:
        return "Not defined: it is a measure of the model that the samples came from."
    if public_samples is None or public is None:
        return "No samples of a model that saw public data only."
    if metric.needs != "labels":
        return ""
    if public.facts.classes != context.dataset.facts.classes:
        return f"Not defined: the public classes of {public.facts.name} are not the classes of {context.dataset.facts.name}."
    return context.undefined_reason(metric, public_samples) or ""
