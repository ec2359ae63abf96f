"""What methods have in common that release noisy mean embeddings of records by class and fit a generator to them alone.

Releases, training and samples are `workbench.models.embeddings`'.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, MethodConfig
from workbench.methods.counted_labels import CountedLabels
from workbench.models.embeddings.config import EMBEDDING, GENERATOR, GeneratorTraining
from workbench.models.label_shares import PaidLabelShares
from workbench.privacy.accounting.formulas import gaussian_releases, inverse_square
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class EmbeddingConfig(MethodConfig):
    """The noise of what is released, the generator, and how classes of samples are drawn."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over the replace-one distance 2/num_records; empty calibrates it to the target."
    )
    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    training: GeneratorTraining = GeneratorTraining()
    labels: PaidLabelShares = PaidLabelShares()


ConfigT = TypeVar("ConfigT", bound=EmbeddingConfig)
NETWORK = ("latent_size", "hidden_size", "channels")


class EmbeddingMethod(CountedLabels[ConfigT], Generic[ConfigT]):
    """Gaussian releases of mean embeddings by class, and of counts of labels if asked for; a generator fitted to them is free."""

    released: ClassVar[tuple[str, ...]] = (GENERATOR, EMBEDDING)  # the noisy embedding tells how much of it is noise
    shapes: ClassVar[tuple[str, ...] | None] = NETWORK
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: ConfigT

    @abstractmethod
    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """What comes before the generator: the releases, and free stages on public images."""

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The releases, counts of labels if asked for, and the generator's training that is free."""
        return [*self.embeddings(facts), *self.config.labels.stages(facts), self.config.training.free_stage(GENERATOR)]

    def gaussian_claim(self, noise_multipliers: Sequence[float | None], delta: float, source: str) -> PrivacyValue:
        """Gaussian mechanisms of these multipliers over replace-one distances, composed exactly, and that of counts if released.

        Two of the counts, each with noise of its own, move by one where a record is replaced.
        """
        known = [noise for noise in noise_multipliers if noise is not None]
        assert len(known) == len(noise_multipliers)
        squares = sum(map(inverse_square, known)) + 2.0 * inverse_square(self.counts_noise)
        return gaussian_releases(squares**-0.5, 1, delta, source)

    @property
    def counts_noise(self) -> float:
        """The noise of each class's count; infinite where none are released."""
        return self.config.labels.noise_multiplier if self.config.labels.are_released else float("inf")
