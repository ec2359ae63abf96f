"""Precision, recall, density and coverage as measures: against held-out records, over all and by class."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workbench.evaluation.context import Context, Measurement, Metric, Split
from workbench.evaluation.intervals import normal, wilson
from workbench.evaluation.manifolds import DEFAULT_K, Manifolds, by_class, manifolds
from workbench.records import KINDS, Records


class MeasureWords(NamedTuple):
    """What an axis and a table say of a measure."""

    title: str
    description: str


HELD_OUT: frozenset[Split] = frozenset({"held_out"})
TOLD = {
    "precision": MeasureWords("Precision", "Share of samples that lie in the ball of some held-out record to its fifth neighbour."),
    "recall": MeasureWords("Recall", "Share of held-out records that lie in the ball of some sample to its fifth neighbour."),
    "density": MeasureWords("Density", "In how many such balls of held-out records a sample lies on average, over five; may exceed 1."),
    "coverage": MeasureWords("Coverage", "Share of held-out records whose ball has a sample in it."),
}


def quality(name: str) -> Metric:
    """The measure `name` of `TOLD`, taken where it is asked for by name."""

    def measure(samples: Records, context: Context) -> Measurement:
        measures = _manifolds(_Once(context.space(samples), context.held_out_features))
        value = measures.values[name]
        return Measurement(value, _interval(name, measures), context.space.label, _note(name, samples, context))

    return Metric(
        name=name,
        title=TOLD[name].title,
        kinds=frozenset(KINDS),
        function=measure,
        description=TOLD[name].description,
        better="higher",
        touches=HELD_OUT,
        is_fraction=name != "density",
        by_name=True,
    )


class _Once:
    """Two sets of features as a key: equal ones are measured once, as the four measures ask for the same."""

    def __init__(self, samples: np.ndarray, records: np.ndarray) -> None:
        self.samples, self.records = samples, records
        self._key = (samples.shape, samples.tobytes(), id(records))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self._key == other._key and self.records is other.records


@lru_cache(maxsize=4)
def _manifolds(sets: _Once) -> Manifolds:
    return manifolds(sets.samples, sets.records)


def _interval(name: str, measures: Manifolds) -> tuple[float, float] | None:
    """Over samples or records, the balls being as they are."""
    if name == "density":
        error = float(measures.density_of.std(ddof=1)) / len(measures.density_of) ** 0.5
        return normal(float(measures.density_of.mean()), error, low=0.0)
    part = {"precision": measures.in_real_balls, "recall": measures.in_sample_balls, "coverage": measures.has_sample}[name]
    return wilson(float(part.mean()), len(part))


def _note(name: str, samples: Records, context: Context) -> str:
    """How it was measured, and the value of each class that has enough samples and records."""
    held_out, facts = context.dataset.held_out, context.dataset.facts
    note = f"k = {DEFAULT_K}, against {len(held_out)} held-out records; comparable at equal numbers only."
    if samples.labels is None or held_out.labels is None:
        return note
    classes = by_class(context.space(samples), context.held_out_features, (samples.labels, held_out.labels))
    values = ", ".join(f"{facts.classes[label]}: {measures.values[name]:.2f}" for label, measures in classes.items())
    return f"{note} Within each class: {values}." if values else note
