"""Mechanisms: the few forms, each under one neighboring relation, that every accountant reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation

from workbench.privacy.accounting.stages import Relation


@dataclass(frozen=True)
class ExactGaussian:
    """A release that is exactly mu-GDP."""

    mu: float


@dataclass(frozen=True)
class SampledGaussian:
    """A Poisson-sampled Gaussian sum, record absent or null."""

    sample_rate: float
    noise_multiplier: float


@dataclass(frozen=True)
class FixedBatchGaussian:
    """A Gaussian release of a fixed-size batch without replacement, mu the replace-one distance in standard deviations."""

    num_records: int
    batch_size: int
    mu: float


@dataclass(frozen=True)
class VisibleGaussian:
    """A mu-GDP release that touches the record with chance `sample_rate`, the drawn set visible."""

    sample_rate: float
    mu: float


@dataclass(frozen=True)
class BoundedRange:
    """A release whose privacy loss lies in an interval of length `epsilon`, as that of the exponential mechanism does.

    Those of one `block` are composed as adaptive choices of one range, whatever stands between them; blocks are composed as pairs.
    """

    epsilon: float
    block: int = 0


@dataclass(frozen=True)
class GaussianMixture:
    """N(0, sigma^2) against a mixture of N(c_i, sigma^2) with weights p_i: a group of records under Poisson sampling."""

    noise_multiplier: float
    sensitivities: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class LibraryEvent:
    """An event that dp-accounting itself interprets under the relation."""

    event: dp_event.DpEvent
    relation: Relation


@dataclass(frozen=True)
class Unbounded:
    """A release without a finite epsilon, and why."""

    reason: str
    status: str = "not_proved"


Mechanism = (
    ExactGaussian | SampledGaussian | FixedBatchGaussian | VisibleGaussian | BoundedRange | GaussianMixture | LibraryEvent | Unbounded
)
Composition = Mapping[Mechanism, int]


def num_steps(composition: Composition) -> int:
    """How many mechanisms are composed; at least one."""
    return max(1, sum(composition.values()))


def library_relation(relation: Relation) -> NeighboringRelation:
    """The relation as dp-accounting names it."""
    return NeighboringRelation[relation]
