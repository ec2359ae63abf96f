"""What methods have in common whose teachers vote about generated images: PATE-GAN, G-PATE and DataLens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Generic, Self, TypeVar

from dp_accounting import dp_event
from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, MethodConfig
from workbench.methods.counted_labels import CountedLabels
from workbench.methods.fields import with_values
from workbench.models.embeddings.config import GENERATOR
from workbench.models.label_shares import PaidLabelShares
from workbench.models.teachers.config import TEACHERS, VOTES, Ensemble, Rounds
from workbench.privacy.accounting.formulas import composed_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class TeachersConfig(MethodConfig):
    """The teachers, the rounds, the generator, and how classes of samples are drawn."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of a vote, in votes; empty calibrates it to the target."
    )
    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=100, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    teachers: Ensemble = Ensemble()
    training: Rounds = Rounds()
    labels: PaidLabelShares = PaidLabelShares()

    def of_size(self, rows: float, least: int) -> Self:
        """The same with about `rows` rows in every step, of the teachers' too, whose batches are no part of a training."""
        sized = super().of_size(rows, least)
        count = max(least, round(rows / (2 * self.teachers.updates * self.teachers.number)))
        return with_values(sized, {"teachers.batch_size": count})


ConfigT = TypeVar("ConfigT", bound=TeachersConfig)


class TeachersMethod(CountedLabels[ConfigT], Generic[ConfigT]):
    """Quiet teachers on disjoint parts, their votes with noise, and a generator that follows these."""

    released: ClassVar[tuple[str, ...]] = (GENERATOR,)
    interruptible: ClassVar[tuple[str, ...]] = (
        TEACHERS,
        VOTES,
        GENERATOR,
    )
    quiet_parts: ClassVar[tuple[str, ...]] = (TEACHERS,)
    shapes: ClassVar[tuple[str, ...] | None] = ("latent_size", "hidden_size", "channels", "teachers")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: ConfigT

    @abstractmethod
    def votes(self) -> Stage:
        """The release of a round's noisy votes."""

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The counts of labels if asked for, the teachers' rounds that release nothing, their votes, and the generator (free)."""
        rounds = self.config.training
        quiet = self.config.teachers.stage(rounds.steps, facts)
        votes = replace(self.votes(), rows=float(rounds.batch_size))  # of generated images, whatever the number of records
        return [*self.config.labels.stages(facts), quiet, votes, rounds.free_stage(GENERATOR)]


def votes_rdp(noises: Sequence[float], count: int, delta: float, source: str) -> PrivacyValue:
    """The RDP of `count` releases of votes for each of `noises`: a noise in units of how far one teacher moves that release."""

    return composed_rdp([(dp_event.GaussianDpEvent(noise), count) for noise in noises], delta, source, relation="REPLACE_ONE")
