"""What is asked of a critic that DP-SGD trains and of a generator that follows it, and the names of their losses. No torch."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining, Schedule
from workbench.training.switches import Switches

CRITIC = "critic"  # the module that tells records from generated images
AVERAGE = "ema"  # the moving average of the generator, which samples come from
AdversarialLoss = Literal["bce", "hinge", "wasserstein"]


class CriticTraining(DPSGD):
    """DP-SGD on the critic: every other row of a record is a generated image."""

    switches: ClassVar[Switches] = {"noise_multiplicity": (2, 4)}

    batch_size: float = Field(default=150, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=300, ge=1, description="DP-SGD steps of the critic.")
    learning_rate: float = Field(default=4e-3, ge=1e-9, le=1e3, description="The optimiser's learning rate for the critic.")
    noise_multiplicity: int = Field(
        default=2, ge=2, multiple_of=2, description="Rows K of a record: itself and a generated image, so often that there are K."
    )
    optimizer: Literal["adam", "rmsprop", "sgd"] = Field(default="adam", description="What takes the critic's steps.")


class GeneratorUpdates(BaseModel):
    """Steps of a generator that takes turns with a critic: one after every `critic_steps` of the critic's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    critic_steps: int = Field(default=4, ge=1, le=100_000, description="Critic steps n_D before each step of the generator.")
    batch_size: int = Field(default=150, ge=1, description="Generated images in a step of the generator.")
    learning_rate: float = Field(default=5e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the generator.")
    schedule: Schedule = Field(default="constant", description="How that learning rate falls over the steps.")

    def steps(self, critic_steps: int) -> int:
        """Generator steps beside so many critic steps altogether: whole turns alone."""
        return critic_steps // self.critic_steps

    def training(self, critic_steps: int) -> OrdinaryTraining:
        """The generator's steps as ordinary training, on generated images alone."""
        return OrdinaryTraining(
            steps=self.steps(critic_steps), batch_size=self.batch_size, learning_rate=self.learning_rate, schedule=self.schedule
        )
