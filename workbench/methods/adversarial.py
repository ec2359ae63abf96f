"""What GANs have in common whose critic is trained by DP-SGD: its settings, stages and released parts.

The critic alone looks at records. Its loss of a record stands beside that of a generated image, whose input and class are drawn
without asking any, and both are clipped as one gradient; the generator follows the critic, which is post-processing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, MethodConfig
from workbench.methods.counted_labels import CountedLabels
from workbench.models.adversarial.config import AVERAGE, AdversarialLoss, CriticTraining, GeneratorUpdates
from workbench.models.embeddings.config import GENERATOR
from workbench.models.label_shares import PaidLabelShares
from workbench.models.settings import DP_SGD
from workbench.networks import CriticConfig
from workbench.privacy.accounting.stages import Stage


class AdversarialConfig(MethodConfig):
    """Generator, critic, their losses and training, and how classes of samples are drawn."""

    latent_size: int = Field(default=4, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    loss: AdversarialLoss = Field(default="bce", description="What critic and generator make small.")
    critic: CriticConfig = CriticConfig(hidden_layers=0, label="projected")
    training: CriticTraining = CriticTraining()
    generator: GeneratorUpdates = GeneratorUpdates()
    ema_decay: float = Field(default=0.98, ge=0, lt=1, description="Decay of the generator's moving average, which samples come from.")
    labels: PaidLabelShares = PaidLabelShares()

    def of_size(self, rows: float, least: int) -> Self:
        """The same with other batches; the generator's is as large as the critic's."""
        sized = super().of_size(rows, least)
        return sized.model_copy(update={"generator": sized.generator.model_copy(update={"batch_size": max(least, round(rows))})})


ConfigT = TypeVar("ConfigT", bound=AdversarialConfig)


class AdversarialMethod(CountedLabels[ConfigT], Generic[ConfigT]):
    """Counts of labels if asked for, DP-SGD on a critic, and a generator that takes turns with it."""

    released: ClassVar[tuple[str, ...]] = (AVERAGE,)
    interruptible: ClassVar[tuple[str, ...]] = (
        DP_SGD,
        GENERATOR,
    )
    shapes: ClassVar[tuple[str, ...] | None] = (
        "latent_size", "hidden_size", "channels", "critic", "generator.critic_steps", "training.noise_multiplicity",
    )  # fmt: skip
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    config: ConfigT

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Wider networks for larger images, and a batch that there are records for."""
        large = facts.dimensions > 300
        wider = {"critic.blocks": 2, "channels": 32, "training.steps": 1_000} if large else {}
        return {**wider, "training.batch_size": min(600 if large else 150, facts.num_records)}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Counts of labels if asked for, the critic's DP-SGD, and the generator's steps, which are free."""
        training = self.config.training
        return [
            *self.config.labels.stages(facts),
            training.stage(DP_SGD, facts.num_records),
            self.config.generator.training(training.steps).free_stage(GENERATOR),
        ]
