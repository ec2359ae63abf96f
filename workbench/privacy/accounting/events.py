"""Events of our own beside those of dp-accounting, their JSON form, and how far one record moves each."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import attr
from dp_accounting import dp_event

from workbench.errors import WorkbenchError


@attr.s(frozen=True, slots=True, auto_attribs=True)
class FixedBatchGaussianDpEvent(dp_event.DpEvent):
    """A Gaussian release of a batch of fixed size, drawn afresh without replacement, unordered and without index or label.

    Attributes:
        num_records: n, public.
        batch_size: m <= n records a step.
        noise_multiplier: noise standard deviation over the replace-one distance of one record, 1/mu.

    Holds under REPLACE_ONE, and under REPLACE_SPECIAL where the null record is drawn and counted like any other. The
    noise multiplier is not doubled there: in the amplified form the record swapped in is still the full distance away.
    Source: Dong, Roth and Su (2022), Theorem 4.2; Balle, Barthe and Gaboardi (2018).
    """

    num_records: int
    batch_size: int
    noise_multiplier: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class DrawnPartGaussianDpEvent(dp_event.DpEvent):
    """A Gaussian release of what one part of the records gave, the part drawn evenly and afresh; no record is in two parts.

    Attributes:
        num_parts: K, public, as is which part every record is in.
        noise_multiplier: noise standard deviation over the largest distance of what any two parts may give, 1/mu.
        visible: whether the draws are public, or something that is released follows from them beside the part that this release is of.

    Where the draw is secret, one step has delta(eps) <= q delta_mu(log(1 + (e^eps - 1)/q)), q = 1/K: that of a batch of one of K under
    replace-one, as another part's release is no farther away than a replaced record's part. Where it is visible, it has q delta_mu(eps).
    Both hold under REPLACE_ONE, and under REPLACE_SPECIAL where a null record keeps its place (docs/proofs.md, section 12).
    """

    num_parts: int
    noise_multiplier: float
    visible: bool


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ReplaceOneGaussianDpEvent(dp_event.DpEvent):
    """One Gaussian release, exactly 1/noise_multiplier-GDP under REPLACE_ONE.

    Attributes:
        noise_multiplier: noise standard deviation over the replace-one distance.
        zero_out_ratio: distance from a record to the null record over the replace-one distance; one half where the null
            record maps to the centre (a zero embedding), one over the root of 2 for a histogram, one where it is just another
            record. No default: half of it for a histogram would count too little.
    """

    noise_multiplier: float
    zero_out_ratio: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PartOfGaussianDpEvent(ReplaceOneGaussianDpEvent):
    """A ReplaceOneGaussianDpEvent that is one part of a release, no pair of records being as far apart in every part as in this one.

    Attributes:
        together: the noise multipliers of all parts, of which one run releases each once.
        joint_noise_multiplier: noise over the replace-one distance of all parts together, 1/mu of the whole.

    Read by itself it costs what a ReplaceOneGaussianDpEvent costs; only `replace_one_bound`, which knows that its parts are of one run,
    takes the whole.
    """

    together: tuple[float, ...] = attr.field(converter=tuple)
    joint_noise_multiplier: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RealisedBatchSizeDpEvent(dp_event.DpEvent):
    """A Poisson-sampled noisy sum of clipped vectors, divided by the realised batch size instead of its expectation.

    Attributes:
        sampling_probability: q, the chance of every record to be drawn.
        noise_multiplier: noise standard deviation over the clipping norm, before the division.

    The quotient lets the batch's size and the other records scale the output, so the usual amplification fails. Under
    REPLACE_SPECIAL the null record is drawn and counted with a zero vector: given the whole drawn set both outputs have the
    same divisor, hence differ by 1/noise_multiplier standard deviations if the record was drawn and not at all otherwise.
    Releasing the drawn set as well can only help the adversary, which proves
        delta(eps) <= q delta_mu(eps) with mu = 1/noise_multiplier, eps >= 0, in both directions.
    Under the other relations the noise scale itself depends on the record and the loss grows with the dimension: refused.
    """

    sampling_probability: float
    noise_multiplier: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ExponentialMechanismDpEvent(dp_event.DpEvent):
    """A choice with weights exp(epsilon score / (2 distance)), distance the most that replacing one record moves any score.

    Attributes:
        epsilon: its pure epsilon under REPLACE_ONE, which is also the range that the privacy loss has at most.
        zero_out_ratio: how far a record made null moves a score, over that distance. No default.

    Source: McSherry and Talwar (2007); Durfee and Rogers (2019) for the range.
    """

    epsilon: float
    zero_out_ratio: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PersonDpEvent(dp_event.DpEvent):
    """A release as it protects a person with at most `most_rows` rows, `event` being what it costs one row.

    Attributes:
        event: of one row, under the same relation with "row" for "person's rows".
        most_rows: k, declared.
        person: the column that names the person; what several releases protect together is a person only where it is one column.

    An accountant that takes it for the event of one row would count too little: so it is one of its own, read by group forms alone.
    """

    event: dp_event.DpEvent
    most_rows: int
    person: str = attr.field(converter=str)


@attr.s(frozen=True, slots=True, auto_attribs=True)
class UnprovedDpEvent(dp_event.DpEvent):
    """A release without a finite epsilon: `not_proved` (no proof is known) or `refuted` (provably none exists)."""

    reason: str
    status: Literal["not_proved", "refuted"] = "not_proved"


OWN_EVENTS: dict[str, type[dp_event.DpEvent]] = {
    "FixedBatchGaussianDpEvent": FixedBatchGaussianDpEvent,
    "DrawnPartGaussianDpEvent": DrawnPartGaussianDpEvent,
    "ReplaceOneGaussianDpEvent": ReplaceOneGaussianDpEvent,
    "PartOfGaussianDpEvent": PartOfGaussianDpEvent,
    "RealisedBatchSizeDpEvent": RealisedBatchSizeDpEvent,
    "ExponentialMechanismDpEvent": ExponentialMechanismDpEvent,
    "PersonDpEvent": PersonDpEvent,
    "UnprovedDpEvent": UnprovedDpEvent,
}

EVENTS: dict[str, type[dp_event.DpEvent]] = {
    "NoOpDpEvent": dp_event.NoOpDpEvent,
    "NonPrivateDpEvent": dp_event.NonPrivateDpEvent,
    "UnsupportedDpEvent": dp_event.UnsupportedDpEvent,
    "RandomizedResponseDpEvent": dp_event.RandomizedResponseDpEvent,
    "GaussianDpEvent": dp_event.GaussianDpEvent,
    "LaplaceDpEvent": dp_event.LaplaceDpEvent,
    "DiscreteLaplaceDpEvent": dp_event.DiscreteLaplaceDpEvent,
    "SelfComposedDpEvent": dp_event.SelfComposedDpEvent,
    "ComposedDpEvent": dp_event.ComposedDpEvent,
    "PoissonSampledDpEvent": dp_event.PoissonSampledDpEvent,
    "SampledWithReplacementDpEvent": dp_event.SampledWithReplacementDpEvent,
    "SampledWithoutReplacementDpEvent": dp_event.SampledWithoutReplacementDpEvent,
    "SingleEpochTreeAggregationDpEvent": dp_event.SingleEpochTreeAggregationDpEvent,
    "RepeatAndSelectDpEvent": dp_event.RepeatAndSelectDpEvent,
    "MixtureOfGaussiansDpEvent": dp_event.MixtureOfGaussiansDpEvent,
    "ZCDpEvent": dp_event.ZCDpEvent,
    "TruncatedSubsampledGaussianDpEvent": dp_event.TruncatedSubsampledGaussianDpEvent,
    **OWN_EVENTS,
}


def event_to_json(event: dp_event.DpEvent | None) -> dict[str, Any]:
    """The event as plain JSON: `{"type": class name, field: value, ..}`.

    A nested event is such an object again, a list a list; a float that JSON has no number for is "inf" or "-inf". The names
    of types are those of `EVENTS`. `event_from_json` gives back an equal event. None, which a free stage has, is written as
    the event that does nothing.
    """
    event = dp_event.NoOpDpEvent() if event is None else event
    name = type(event).__name__
    if name not in EVENTS or type(event) is not EVENTS[name]:
        raise WorkbenchError(f"Expected an event of one of the types {', '.join(EVENTS)}; got {name}.")
    fields = {field.name: _value_to_json(getattr(event, field.name)) for field in attr.fields(type(event))}
    return {"type": name, **fields}


def event_from_json(value: Any) -> dp_event.DpEvent:
    """The event whose `event_to_json` is `value`; unknown types and fields are refused by name."""
    name = value.get("type") if isinstance(value, dict) else None
    if name not in EVENTS:
        raise WorkbenchError(f"Unknown event type {name!r}. Choose one of: {', '.join(EVENTS)}.")
    fields = {key: _value_from_json(item) for key, item in value.items() if key != "type"}
    try:
        return EVENTS[name](**fields)
    except TypeError as error:
        raise WorkbenchError(f"Expected the fields of {name}, got {sorted(fields)}: {error}.") from error


def _value_to_json(value: Any) -> Any:
    if isinstance(value, dp_event.DpEvent):
        return event_to_json(value)
    if isinstance(value, (list, tuple)):
        return [_value_to_json(item) for item in value]
    if hasattr(value, "item"):
        return _value_to_json(value.item())
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _value_from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return event_from_json(value)
    if isinstance(value, list):
        return [_value_from_json(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


@dataclass(frozen=True)
class Distances:
    """How far one record moves a release, in standard deviations of its noise."""

    replace_one: float
    zero_out: float


def distances(event: dp_event.DpEvent) -> Distances | None:
    """Both distances of one release, whoever samples the record into it; None for an event that is no Gaussian release.

    Of a fixed-size batch both are the full one, although a null record in the middle of the range is half as far from any other:
    amplification compares a batch that has the record with one that has another of the n in its place, whichever record is made null. So
    it does with another part in the place of the record's.
    """
    if isinstance(event, PersonDpEvent):
        one = distances(event.event)
        return None if one is None else Distances(event.most_rows * one.replace_one, event.most_rows * one.zero_out)
    if isinstance(event, ReplaceOneGaussianDpEvent):
        return Distances(_over(1.0, event.noise_multiplier), _over(event.zero_out_ratio, event.noise_multiplier))
    if isinstance(event, FixedBatchGaussianDpEvent | DrawnPartGaussianDpEvent):
        return Distances(_over(1.0, event.noise_multiplier), _over(1.0, event.noise_multiplier))
    inner = event.event if isinstance(event, dp_event.PoissonSampledDpEvent | dp_event.SampledWithoutReplacementDpEvent) else event
    sigma = event.noise_multiplier if isinstance(event, RealisedBatchSizeDpEvent) else effective_noise_multiplier(inner)
    return None if sigma is None else Distances(_over(2.0, sigma), _over(1.0, sigma))


def _over(distance: float, noise_multiplier: float) -> float:
    return distance / noise_multiplier if noise_multiplier > 0 else math.inf


def effective_noise_multiplier(event: dp_event.DpEvent) -> float | None:
    """Noise multiplier of the single Gaussian equal to a composition of Gaussians; None for any other event."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return event.noise_multiplier
    if isinstance(event, dp_event.SelfComposedDpEvent):
        inner = effective_noise_multiplier(event.event)
        return None if inner is None or event.count < 1 else inner / math.sqrt(event.count)
    if isinstance(event, dp_event.ComposedDpEvent) and event.events:
        inner = [effective_noise_multiplier(part) for part in event.events]
        known = [sigma for sigma in inner if sigma is not None]
        if len(known) < len(inner):
            return None
        return 0.0 if 0.0 in known else 1.0 / math.sqrt(sum(sigma**-2 for sigma in known))
    return None
