"""An event under one neighboring relation read as mechanisms."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dp_accounting import dp_event

from workbench.errors import RefusedError, WorkbenchError
from workbench.privacy.accounting import events as own
from workbench.privacy.accounting.accountants.mechanisms import (
    BoundedRange,
    Composition,
    ExactGaussian,
    FixedBatchGaussian,
    GaussianMixture,
    LibraryEvent,
    Mechanism,
    SampledGaussian,
    Unbounded,
    VisibleGaussian,
)
from workbench.privacy.accounting.group_forms import GROUP_FORMS
from workbench.privacy.accounting.stages import Relation

NULLABLE: frozenset[str] = frozenset({"ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"})
REPLACING: frozenset[str] = frozenset({"REPLACE_ONE", "REPLACE_SPECIAL"})
LEAST_NOISE = 1e-100  # a noise multiplier below it counts as none
MOST_STEPS = 10**15


def leaves(event: dp_event.DpEvent, count: int = 1) -> Iterator[tuple[dp_event.DpEvent, int]]:
    """The simple events that `event` composes, each with how often it is spent; no-ops are left out."""
    if count < 0 or count != int(count):
        raise WorkbenchError(f"Expected a whole number of steps >= 0, got {count}.")
    if count > MOST_STEPS:
        raise WorkbenchError(f"Expected at most {MOST_STEPS:g} steps, got {float(count):g}.")
    if count == 0 or isinstance(event, dp_event.NoOpDpEvent):
        return
    if isinstance(event, dp_event.SelfComposedDpEvent):
        yield from leaves(event.event, event.count * count if event.count >= 0 else event.count)
    elif isinstance(event, dp_event.ComposedDpEvent):
        for part in event.events:
            yield from leaves(part, count)
    elif isinstance(event, own.PersonDpEvent):
        for part, times in leaves(event.event, count):
            yield part if isinstance(part, own.UnprovedDpEvent) else own.PersonDpEvent(part, event.most_rows, event.person), times
    else:
        yield event, count


def mechanisms(event: dp_event.DpEvent, relation: Relation) -> Composition:
    """All mechanisms of `event` under `relation` with their counts; equal ones are merged, Gaussians into one.

    Choices of the range of which there are most are one block; of every other range each event's are a block of their own.

    Raises RefusedError, naming the event, where the theory has no form for it under this relation.
    """
    counts: dict[Mechanism, int] = {}
    squared_mu = 0.0
    counted = [(_mechanism(leaf, relation), count) for leaf, count in leaves(event)]
    for mechanism, count in _in_blocks(counted):
        if isinstance(mechanism, ExactGaussian):
            squared_mu += count * mechanism.mu**2
        elif mechanism is not None:
            counts[mechanism] = counts.get(mechanism, 0) + count
    if squared_mu > 0:
        counts[ExactGaussian(math.sqrt(squared_mu))] = 1
    return MappingProxyType(counts)


def _in_blocks(counted: Sequence[tuple[Mechanism | None, int]]) -> Iterator[tuple[Mechanism | None, int]]:
    """The same mechanisms with their choices in blocks (docs/proofs.md, section 10)."""
    choices: dict[float, int] = {}
    for mechanism, count in counted:
        if isinstance(mechanism, BoundedRange):
            choices[mechanism.epsilon] = choices.get(mechanism.epsilon, 0) + count
    most = max(choices, key=lambda epsilon: choices[epsilon], default=0.0)
    for number, (mechanism, count) in enumerate(counted, 1):
        if isinstance(mechanism, BoundedRange) and mechanism.epsilon != most:
            yield replace(mechanism, block=number), count
        else:
            yield mechanism, count


def _mechanism(leaf: dp_event.DpEvent, relation: Relation) -> Mechanism | None:
    """The mechanism of a simple event, or None if it costs nothing."""
    reader = READERS.get(type(leaf))
    if reader is None:
        raise _refusal(leaf, relation, "no proof is known for this event")
    mechanism = reader(leaf, relation)
    if isinstance(mechanism, ExactGaussian) and math.isinf(mechanism.mu):
        return Unbounded("The noise multiplier is 0, or as good as 0: the release is exact and has no finite epsilon.")
    return None if mechanism == ExactGaussian(0.0) else mechanism


def _refusal(leaf: dp_event.DpEvent, relation: Relation, why: str) -> RefusedError:
    return RefusedError(f"{type(leaf).__name__} has no bound under {relation}: {why}.")


def _require(leaf: dp_event.DpEvent, relation: Relation, allowed: frozenset[str]) -> None:
    if relation not in allowed:
        raise _refusal(leaf, relation, f"its proof covers {' and '.join(sorted(allowed))} only")


def _usable(noise_multiplier: float) -> float:
    """The noise multiplier, rounded down to one whose square and inverse square are floating-point numbers, or to 0."""
    if not noise_multiplier >= 0:
        raise WorkbenchError(f"Expected noise_multiplier >= 0, got {noise_multiplier}.")
    return min(noise_multiplier, 1 / LEAST_NOISE) if noise_multiplier >= LEAST_NOISE else 0.0


def _inverse(noise_multiplier: float) -> float:
    sigma = _usable(noise_multiplier)
    return math.inf if sigma == 0 else 1.0 / sigma


def _probability(value: float, what: str) -> float:
    if not 0.0 <= value <= 1.0:
        raise WorkbenchError(f"Expected {what} in [0, 1], got {value}.")
    return value


def _read_gaussian(leaf: Any, relation: Relation) -> Mechanism:
    """Replacing a vector of norm at most C by another moves the sum by up to 2 C."""
    return ExactGaussian((2.0 if relation == "REPLACE_ONE" else 1.0) * _inverse(leaf.noise_multiplier))


def _read_poisson(leaf: Any, relation: Relation) -> Mechanism:
    q = _probability(leaf.sampling_probability, "sampling_probability")
    sigma = own.effective_noise_multiplier(leaf.event)
    if sigma is None and isinstance(leaf.event, dp_event.LaplaceDpEvent):
        _require(leaf, relation, NULLABLE)
        return LibraryEvent(leaf, relation)
    if sigma is None:
        raise _refusal(leaf, relation, f"Poisson sampling of {type(leaf.event).__name__} is not covered")
    if q == 0:
        return ExactGaussian(0.0)
    if q == 1:
        return _read_gaussian(dp_event.GaussianDpEvent(sigma), relation)
    _require(leaf, relation, NULLABLE)
    mu = _inverse(sigma)
    return ExactGaussian(mu) if mu in (0.0, math.inf) else SampledGaussian(q, _usable(sigma))


def _read_fixed_batch(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, REPLACING)
    if not (leaf.num_records >= 1 and 0 <= leaf.batch_size <= leaf.num_records):
        raise WorkbenchError(f"Expected 0 <= batch_size <= num_records, got {leaf.batch_size} of {leaf.num_records}.")
    mu = _inverse(leaf.noise_multiplier)
    if leaf.batch_size == 0:
        return ExactGaussian(0.0)
    exact = leaf.batch_size == leaf.num_records or mu in (0.0, math.inf)
    return ExactGaussian(mu) if exact else FixedBatchGaussian(leaf.num_records, leaf.batch_size, mu)


def _read_drawn_part(leaf: Any, relation: Relation) -> Mechanism:
    """A batch of one part of K where the draw is secret; where it is visible, what it is of is told with it."""
    _require(leaf, relation, REPLACING)
    if not (leaf.num_parts >= 1 and leaf.num_parts == int(leaf.num_parts)):
        raise WorkbenchError(f"Expected a whole number of parts >= 1, got {leaf.num_parts}.")
    mu = _inverse(leaf.noise_multiplier)
    if leaf.num_parts == 1 or mu in (0.0, math.inf):
        return ExactGaussian(mu)
    return VisibleGaussian(1 / leaf.num_parts, mu) if leaf.visible else FixedBatchGaussian(leaf.num_parts, 1, mu)


def _read_without_replacement(leaf: Any, relation: Relation) -> Mechanism:
    """The multiplier of a GaussianDpEvent is relative to one record's norm, half the replace-one distance."""
    sigma = own.effective_noise_multiplier(leaf.event)
    if sigma is None:
        raise _refusal(leaf, relation, f"sampling {type(leaf.event).__name__} without replacement is not covered")
    fixed = own.FixedBatchGaussianDpEvent(leaf.source_dataset_size, leaf.sample_size, sigma / 2)
    return _read_fixed_batch(fixed, relation)


def _read_replace_one(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, REPLACING)
    if not 0.0 < leaf.zero_out_ratio <= 1.0:
        raise WorkbenchError(f"Expected zero_out_ratio in (0, 1], got {leaf.zero_out_ratio}.")
    ratio = leaf.zero_out_ratio if relation == "REPLACE_SPECIAL" else 1.0
    return ExactGaussian(ratio * _inverse(leaf.noise_multiplier))


def _read_exponential(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, REPLACING)
    if not leaf.epsilon >= 0 or not 0.0 < leaf.zero_out_ratio <= 1.0:
        raise WorkbenchError(f"Expected epsilon >= 0 and zero_out_ratio in (0, 1], got {leaf.epsilon} and {leaf.zero_out_ratio}.")
    epsilon = leaf.epsilon * (leaf.zero_out_ratio if relation == "REPLACE_SPECIAL" else 1.0)
    if math.isinf(epsilon):
        return Unbounded("The exponential mechanism of an infinite epsilon always takes the best score.")
    return BoundedRange(epsilon) if epsilon > 0 else ExactGaussian(0.0)


def _read_realised(leaf: Any, relation: Relation) -> Mechanism:
    if relation != "REPLACE_SPECIAL":
        raise _refusal(leaf, relation, "an absent or swapped record changes the divisor, hence the noise scale, in every dimension")
    q = _probability(leaf.sampling_probability, "sampling_probability")
    mu = _inverse(leaf.noise_multiplier)
    if q in (0.0, 1.0) or mu in (0.0, math.inf):
        return ExactGaussian(mu if q > 0 else 0.0)
    return VisibleGaussian(q, mu)


def _read_randomized_response(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, REPLACING)
    _probability(leaf.noise_parameter, "noise_parameter")
    if leaf.num_buckets < 1:
        raise WorkbenchError(f"Expected num_buckets >= 1, got {leaf.num_buckets}.")
    if leaf.num_buckets == 1 or leaf.noise_parameter == 1:
        return ExactGaussian(0.0)
    if leaf.noise_parameter == 0:
        return Unbounded("Randomised response with noise parameter 0 reports the true value.")
    return LibraryEvent(leaf, relation)


def _read_laplace(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, NULLABLE)
    scale = getattr(leaf, "noise_multiplier", None)
    if scale == 0 or getattr(leaf, "noise_parameter", None) == 0:
        return Unbounded("The noise is 0: the release is exact and has no finite epsilon.")
    return LibraryEvent(leaf, relation)


def _read_mixture(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, NULLABLE)
    deviation = _usable(leaf.standard_deviation)
    if deviation == 0:
        return ExactGaussian(math.inf)
    return GaussianMixture(deviation, tuple(leaf.sensitivities), tuple(leaf.sampling_probs))


def _read_tree(leaf: Any, relation: Relation) -> Mechanism:
    _require(leaf, relation, frozenset({"REPLACE_SPECIAL"}))
    counts = leaf.step_counts
    steps = tuple(counts) if isinstance(counts, (list, tuple)) else counts
    return LibraryEvent(dp_event.SingleEpochTreeAggregationDpEvent(leaf.noise_multiplier, steps), relation)  # pyright: ignore[reportArgumentType]


def _read_non_private(leaf: Any, relation: Relation) -> Mechanism:
    return Unbounded("A step of this composition is not private.")


def _read_person(leaf: Any, relation: Relation) -> Mechanism:
    """The group form for a person's rows: whether they become null rows or another person's, each moves by no more than one row does."""
    if not (leaf.most_rows >= 1 and leaf.most_rows == int(leaf.most_rows)):
        raise WorkbenchError(f"Expected a whole number of rows of a person >= 1, got {leaf.most_rows}.")
    one = _mechanism(leaf.event, relation) or ExactGaussian(0.0)
    if leaf.most_rows == 1:
        return one
    form = GROUP_FORMS.get(type(one))
    if form is None:
        raise _refusal(leaf.event, relation, f"no form of it is proved for a person of {leaf.most_rows} rows; one row of each has one")
    return form(one, leaf.most_rows)


def _read_unproved(leaf: Any, relation: Relation) -> Mechanism:
    return Unbounded(leaf.reason, leaf.status)


READERS: dict[type, Callable[[Any, Relation], Mechanism]] = {
    dp_event.GaussianDpEvent: _read_gaussian,
    dp_event.PoissonSampledDpEvent: _read_poisson,
    dp_event.SampledWithoutReplacementDpEvent: _read_without_replacement,
    dp_event.RandomizedResponseDpEvent: _read_randomized_response,
    dp_event.LaplaceDpEvent: _read_laplace,
    dp_event.DiscreteLaplaceDpEvent: _read_laplace,
    dp_event.MixtureOfGaussiansDpEvent: _read_mixture,
    dp_event.SingleEpochTreeAggregationDpEvent: _read_tree,
    dp_event.NonPrivateDpEvent: _read_non_private,
    own.FixedBatchGaussianDpEvent: _read_fixed_batch,
    own.DrawnPartGaussianDpEvent: _read_drawn_part,
    own.ReplaceOneGaussianDpEvent: _read_replace_one,
    own.PartOfGaussianDpEvent: _read_replace_one,
    own.RealisedBatchSizeDpEvent: _read_realised,
    own.ExponentialMechanismDpEvent: _read_exponential,
    own.PersonDpEvent: _read_person,
    own.UnprovedDpEvent: _read_unproved,
}
