"""The event of a release whose one record is made null, where it is known."""

from collections.abc import Callable
from typing import Any

from dp_accounting import dp_event

from workbench.privacy.accounting.events import (
    DrawnPartGaussianDpEvent,
    ExponentialMechanismDpEvent,
    FixedBatchGaussianDpEvent,
    PartOfGaussianDpEvent,
    PersonDpEvent,
    RealisedBatchSizeDpEvent,
    ReplaceOneGaussianDpEvent,
    effective_noise_multiplier,
)


def zero_out(event: dp_event.DpEvent) -> dp_event.DpEvent | None:
    """The event of the same release under REPLACE_SPECIAL (one record made null), or None where none is known.

    A Poisson-sampled Gaussian stays what it is; a replace-one Gaussian has its distance times `zero_out_ratio`; a composed
    event has a form where all its parts have one.
    """
    form = ZERO_OUT_FORMS.get(type(event))
    return form(event) if form else None


def _itself(event: dp_event.DpEvent) -> dp_event.DpEvent:
    return event


def _zero_out_composed(event: Any) -> dp_event.DpEvent | None:
    parts = [zero_out(part) for part in event.events]
    forms = [part for part in parts if part is not None]
    return dp_event.ComposedDpEvent(forms) if len(forms) == len(parts) else None


def _zero_out_self_composed(event: Any) -> dp_event.DpEvent | None:
    form = zero_out(event.event)
    return None if form is None else dp_event.SelfComposedDpEvent(form, event.count)


def _zero_out_person(event: Any) -> dp_event.DpEvent | None:
    form = zero_out(event.event)
    return None if form is None else PersonDpEvent(form, event.most_rows, event.person)


def _zero_out_poisson(event: Any) -> dp_event.DpEvent | None:
    known = effective_noise_multiplier(event.event) is not None or isinstance(event.event, dp_event.LaplaceDpEvent)
    return event if known else None


def _zero_out_without_replacement(event: Any) -> dp_event.DpEvent | None:
    sigma = effective_noise_multiplier(event.event)
    return None if sigma is None else FixedBatchGaussianDpEvent(event.source_dataset_size, event.sample_size, sigma / 2)


def _zero_out_replace_one(event: Any) -> dp_event.DpEvent:
    return dp_event.GaussianDpEvent(event.noise_multiplier / event.zero_out_ratio)


def _zero_out_exponential(event: Any) -> dp_event.DpEvent:
    return ExponentialMechanismDpEvent(event.epsilon * event.zero_out_ratio, zero_out_ratio=1.0)


ZERO_OUT_FORMS: dict[type, Callable[[Any], dp_event.DpEvent | None]] = {
    dp_event.NoOpDpEvent: _itself,
    dp_event.NonPrivateDpEvent: _itself,
    dp_event.RandomizedResponseDpEvent: _itself,
    dp_event.GaussianDpEvent: _itself,
    dp_event.LaplaceDpEvent: _itself,
    dp_event.DiscreteLaplaceDpEvent: _itself,
    dp_event.MixtureOfGaussiansDpEvent: _itself,
    dp_event.SingleEpochTreeAggregationDpEvent: _itself,
    FixedBatchGaussianDpEvent: _itself,
    DrawnPartGaussianDpEvent: _itself,
    RealisedBatchSizeDpEvent: _itself,
    ReplaceOneGaussianDpEvent: _zero_out_replace_one,
    PartOfGaussianDpEvent: _zero_out_replace_one,
    ExponentialMechanismDpEvent: _zero_out_exponential,
    PersonDpEvent: _zero_out_person,
    dp_event.ComposedDpEvent: _zero_out_composed,
    dp_event.SelfComposedDpEvent: _zero_out_self_composed,
    dp_event.PoissonSampledDpEvent: _zero_out_poisson,
    dp_event.SampledWithoutReplacementDpEvent: _zero_out_without_replacement,
}
