"""Features of methods that are not differential privacy. Each is a protocol; pages, commands, measures and tests look for it by name.

A method offers one by having its members; `offered_features` says in words what it offers. None of it changes the plan's bound.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from workbench.datasets.base import DatasetFacts
    from workbench.methods.base import Method
    from workbench.models.denoising import Denoiser
    from workbench.models.sample_request import SampleRequest, Source
    from workbench.privacy.not_dp.pac import PacNoise
    from workbench.privacy.not_dp.per_instance import DenoiserError, Leakage
    from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon
    from workbench.records import Records
    from workbench.training.state import State


@runtime_checkable
class PerInstanceValues(Protocol):
    """Says of each record how much the samples show of it (Wei et al. 2024).

    The values of a record depend on the others: no epsilon follows, and they stay in the room.
    """

    def per_instance(
        self,
        facts: "DatasetFacts",
        data: "Records",
        num_draws: int,
        seed: int = 0,
        progress: "Callable[[float], None] | None" = None,
    ) -> "Leakage":
        """J of every record of `data` (N,) for one sample that may show it, by `num_draws` Monte-Carlo draws; 0 for null records.

        `progress` gets the share that is done.
        """
        ...


@runtime_checkable
class MeasuredDenoiser(PerInstanceValues, Protocol):
    """Measures how far its trained denoiser is from the ideal one that its values per record are about (Wei et al. 2024, assumptions)."""

    def denoiser_error(self, state: "State", data: "Records", seed: int = 0) -> "DenoiserError":
        """gamma_t and gamma~_t of a fitted state at some time steps, against the records themselves: private values."""
        ...


@runtime_checkable
class PacRelease(Protocol):
    """Determines noise for its samples that is to bound a mutual information with the records (Xiao and Devadas 2023).

    The records are random there; nothing is said of the worst case, and no epsilon follows.
    """

    def pac_noise(self, state: "State", request: "SampleRequest") -> "PacNoise":
        """The noise for what `request` draws from a fitted state; its `labels` say on what the bound rests, or why none holds."""
        ...


@runtime_checkable
class AttributeGuided(Protocol):
    """Steers its samples by an attribute of the records beside their class; each sample carries the value that it was steered to."""

    @property
    def guiding_attribute(self) -> str:
        """The attribute's name among `DatasetFacts.attributes`."""
        ...


@runtime_checkable
class PrivatelyGuided(Protocol):
    """Steers every sample by a part that was trained on private records and stays in the room.

    Its `sampling_stages` say what each request costs: infinity, unless the part was trained by private steps.
    """

    @property
    def private_guides(self) -> tuple[str, ...]:
        """Names of these parts, all among `kept_private`."""
        ...


@runtime_checkable
class VariationallyBounded(Protocol):
    """Bounds how many bits its model needs to name a record's pixels (Ho et al. 2020, eq. 5): a measure of the model, no guarantee."""

    def bits_per_dimension(self, state: "State", data: "Records", seed: int = 0) -> "np.ndarray":
        """L_vlb of every record of `data` under a fitted state, in bits per dimension, (N,); each term by one draw. Private values."""
        ...


@runtime_checkable
class Denoising(Protocol):
    """Says what its model predicts of the noise in a record at every time: what attacks on membership look at. Private values."""

    def denoiser(self, state: "State", source: "Source" = "model") -> "Denoiser":
        """The fitted state's model; of `source` "public" the one from before any private record, where `has_public_model`."""
        ...


@runtime_checkable
class BoundedInTerms(Protocol):
    """Tells the terms of its evidence lower bound (Wei et al. 2024): measures of the model, no guarantee."""

    def bound_terms(self, state: "State", data: "Records", seed: int = 0) -> "dict[str, np.ndarray]":
        """Terms "reconstruction", "prior" and "denoising" of every record of `data` in nats, (N,) each, by one draw each. Private."""
        ...


@runtime_checkable
class Classifying(Protocol):
    """Releases a classifier of the records' classes beside its samples, within the same bound."""

    def classify(self, state: "State", records: "Records") -> "np.ndarray":
        """The class (N,) that the released classifier of a fitted state gives each record; what it says of private ones is private."""
        ...


@runtime_checkable
class DataDependentEpsilon(Protocol):
    """Says what PATE's data-dependent analysis gives by the true votes of its teachers: less than the bound where they agree.

    It depends on the records: not releasable, and no proved bound; whoever holds them may look at it.
    """

    def vote_gap_epsilon(self, state: "State", delta: float) -> "VoteGapEpsilon":
        """That epsilon of a fitted state at `delta`, beside what the same formulas charge at worst. Private values."""
        ...


WORDS: dict[type, str] = {
    PerInstanceValues: "Values per record: how much samples show of each record. They depend on the other records; do not share them.",
    MeasuredDenoiser: "How far the trained denoiser is from the ideal one, which the values per record are about. Measured on the records.",
    PacRelease: "PAC noise for its samples, meant to bound a mutual information.",
    AttributeGuided: "Samples steered by an attribute of the records.",
    PrivatelyGuided: "Samples steered by a model that was trained on private records. Do not share that model.",
    BoundedInTerms: "The terms of its evidence lower bound, measured on the records. Do not share them.",
    VariationallyBounded: "An upper bound on the bits that the model needs for a record's pixels, measured. Do not share it.",
    Classifying: "The accuracy of the released classifier on held-out records. Do not share it.",
    DataDependentEpsilon: "PATE's epsilon by the teachers' true votes. It depends on the records: not releasable.",
    Denoising: "The model's noise prediction for a given record. Membership attacks use it; do not share it.",
}


def offered_features(method: "Method") -> list[str]:
    """What a method offers that is no differential privacy, a line each."""
    return [words for protocol, words in WORDS.items() if isinstance(method, protocol)]
