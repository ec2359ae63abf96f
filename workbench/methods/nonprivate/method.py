"""A diffusion model trained without any privacy: what the private methods are measured against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, MethodConfig
from workbench.methods.pretrained import GuidedDiffusion
from workbench.models.sample_request import Source
from workbench.models.settings import check_model, default_network
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import State

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class Training(OrdinaryTraining):
    """Ordinary steps on the records themselves."""

    steps: int = Field(default=1500, ge=1, description="Optimiser steps.")


class Steps(MethodConfig):
    """What is trained."""

    training: Training = Training()


class NonPrivateConfig(GuidedDiffusion, Steps):
    """Hyper-parameters of non-private diffusion training."""

    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of records trained without their label, for guidance.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")


TRAINING = "training"


class NonPrivate(Method):
    """Ordinary training; it has no guarantee, and says so."""

    name = "nonprivate"
    title = "Diffusion without privacy"
    source = "Ho, Jain and Abbeel 2020"
    Config = NonPrivateConfig
    implementation = "workbench.methods.nonprivate.training"
    released: ClassVar[tuple[str, ...]] = ("ema",)
    interruptible: ClassVar[tuple[str, ...]] = (TRAINING,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    shapes: ClassVar[tuple[str, ...] | None] = ("network",)
    config: NonPrivateConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, a smaller learning rate from 18x18 pixels on, no batch above the records."""
        large = facts.dimensions > 300
        sizes = {"training.learning_rate": 2e-4 if large else 1e-3, "training.batch_size": min(128, facts.num_records)}
        return {"network": default_network(facts), **sizes}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """One stage whose every step shows the gradient of private records."""
        check_model(self.config, facts)
        return [self.config.training.unprotected_stage(TRAINING, facts.num_records)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper claims privacy for it."""
        return PrivacyValue(
            epsilon=float("inf"),
            delta=delta,
            status="not_proved",
            reason="Ordinary training makes no privacy claim. It is here as the utility that privacy is paid from.",
            source=self.source,
        )

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights."""
        return self.implemented.denoiser(self.config, state, source)
