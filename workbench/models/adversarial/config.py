"""What is asked of a generator that follows a critic, and the names of their losses. No torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.training.ordinary import OrdinaryTraining, Schedule

CRITIC = "critic"  # the module that tells records from generated images
AdversarialLoss = Literal["bce", "hinge", "wasserstein"]


class GeneratorUpdates(BaseModel):
    """Steps of a generator that takes turns with a critic: one after every `critic_steps` of the critic's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    critic_steps: int = Field(default=10, ge=1, le=100_000, description="Critic steps n_D before each step of the generator.")
    batch_size: int = Field(default=150, ge=1, description="Generated images in a step of the generator.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the generator.")
    schedule: Schedule = Field(default="constant", description="How that learning rate falls over the steps.")

    def steps(self, critic_steps: int) -> int:
        """Generator steps beside so many critic steps altogether: whole turns alone."""
        return critic_steps // self.critic_steps

    def training(self, critic_steps: int) -> OrdinaryTraining:
        """The generator's steps as ordinary training, on generated images alone."""
        return OrdinaryTraining(
            steps=self.steps(critic_steps), batch_size=self.batch_size, learning_rate=self.learning_rate, schedule=self.schedule
        )
