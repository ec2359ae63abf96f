"""A private step as one object: how its batch is drawn, what is clipped, how much noise. A plan's stage and its trainer are both it.

`event` is what accountants read, `batches`, `deviation` and `divisor` what `PrivateTraining` carries out: there is no second
place where either stands, so that they cannot disagree. (jax_privacy's execution plan is the model.) No torch before a batch is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from workbench.errors import WorkbenchError
from workbench.lazy import torch
from workbench.training import poisson

if TYPE_CHECKING:
    import numpy as np
    from dp_accounting import dp_event

    from workbench.privacy.accounting.stages import Relation, Stage
    from workbench.training.randomness import Randomness


class Batches(ABC):
    """How the batch of a step is chosen, and what of a noisy sum over it an accountant may count on.

    `relations` are those that the event is proved for. Where `null_counts`, a null record that is drawn takes a place in the batch, as
    the event assumes; elsewhere it has to leave no trace there.
    """

    words: ClassVar[str]
    relations: ClassVar[tuple[Relation, ...]] = ("REPLACE_SPECIAL", "ADD_OR_REMOVE_ONE")
    null_counts: ClassVar[bool] = False

    @abstractmethod
    def event(self, noise_multiplier: float) -> dp_event.DpEvent:
        """A sum over the batch with noise of that multiplier over how far one record moves it."""

    @abstractmethod
    def drawn(self, randomness: Randomness, purpose: str, step: int, num_records: int) -> np.ndarray:
        """The positions int64 of the batch of step `step`; a replayed step draws the same."""


@dataclass(frozen=True)
class PoissonBatches(Batches):
    """Every record joins on its own with the chance `sample_rate`, which amplifies."""

    words: ClassVar[str] = "Poisson batches"

    sample_rate: float

    def event(self, noise_multiplier: float) -> dp_event.DpEvent:
        """The Poisson-sampled Gaussian."""
        from dp_accounting import dp_event

        return dp_event.PoissonSampledDpEvent(self.sample_rate, dp_event.GaussianDpEvent(noise_multiplier))

    def drawn(self, randomness: Randomness, purpose: str, step: int, num_records: int) -> np.ndarray:
        """Ascending, perhaps none."""
        return poisson.poisson_batch(randomness, purpose, step, num_records, self.sample_rate)


@dataclass(frozen=True)
class VisibleBatches(PoissonBatches):
    """The same where a release shows how many records were drawn, null ones included: counted as if it showed which."""

    words: ClassVar[str] = "Poisson batches of a visible size"
    relations: ClassVar[tuple[Relation, ...]] = ("REPLACE_SPECIAL",)
    null_counts: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> dp_event.DpEvent:
        """The Gaussian of a drawn set that is visible; without the record the release has another shape, which no bound covers."""
        from workbench.privacy.accounting.events import RealisedBatchSizeDpEvent

        return RealisedBatchSizeDpEvent(self.sample_rate, noise_multiplier)


@dataclass(frozen=True)
class FixedBatches(Batches):
    """So many different records, as some papers print it; nothing is claimed for it."""

    words: ClassVar[str] = "no amplification"
    null_counts: ClassVar[bool] = True

    size: int

    def event(self, noise_multiplier: float) -> dp_event.DpEvent:
        """A Gaussian on all records."""
        from dp_accounting import dp_event

        return dp_event.GaussianDpEvent(noise_multiplier)

    def drawn(self, randomness: Randomness, purpose: str, step: int, num_records: int) -> np.ndarray:
        """In random order."""
        return poisson.fixed_size_batch(randomness, purpose, step, num_records, self.size)


@dataclass(frozen=True)
class PermutedBatches(FixedBatches):
    """The same by the first records of a permutation of all."""

    words: ClassVar[str] = "batches of fixed size, no amplification"

    def drawn(self, randomness: Randomness, purpose: str, step: int, num_records: int) -> np.ndarray:
        """In random order."""
        return torch.randperm(num_records, generator=randomness.torch_generator(purpose, step))[: self.size].numpy()


@dataclass(frozen=True)
class PrivateSteps:
    """`steps` steps of the stage `name`: each draws a batch, clips, adds noise and divides.

    Clipped are the gradients of each "record", summed, or one gradient of the "batch". The noise has the deviation
    `noise_multiplier` over `dilution`, which some papers divide it by once more, times the clipping norms together; one record moves what
    it is added to by at most `distance` times these.
    `unproved` says why nothing bounds that, where nothing does. `divisor` is a public constant.
    """

    name: str
    steps: int
    batches: Batches
    noise_multiplier: float
    divisor: float
    clipped: Literal["record", "batch"] = "record"
    distance: float = 1.0
    dilution: float = 1.0
    unproved: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.distance < 1:
            raise WorkbenchError(f"Expected a record to move the sum of {self.name} by its norm or farther, got {self.distance:g} of it.")

    @property
    def keeps_null(self) -> bool:
        """Whether null records that are drawn are handed on, for a batch whose gradient is clipped whole."""
        return self.clipped == "batch" and self.batches.null_counts

    @property
    def deviation(self) -> float:
        """Of the noise that is really added, over the clipping norms together."""
        return self.noise_multiplier / self.dilution

    @property
    def event(self) -> dp_event.DpEvent:
        """The event of one step."""
        if self.unproved:
            from workbench.privacy.accounting.events import UnprovedDpEvent

            return UnprovedDpEvent(self.unproved)
        return self.batches.event(self.noise_multiplier / (self.distance * self.dilution))

    def stage(self, reason: str) -> Stage:
        """The stage of a plan."""
        from workbench.privacy.accounting.stages import Stage

        words = FixedBatches.words if self.unproved and isinstance(self.batches, PoissonBatches) else self.batches.words
        return Stage(self.name, self.event, "per_step", self.steps, self.batches.relations, words, reason)
