"""Hyper-parameters of dp-promise and what follows from them."""

from typing import Any, Literal

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig, check_batch_size
from workbench.models import image_diffusion
from workbench.networks import UNetConfig


class DPPromiseConfig(MethodConfig):
    """Hyper-parameters of dp-promise; None stands for what calibration finds."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="DP-SGD noise over max_grad_norm; empty calibrates it."
    )
    boundary: int | None = Field(
        default=None, ge=1, description="Time step S between the phases; empty takes the smallest whose phase-one bound fits its share."
    )
    phase_one_share: float = Field(default=0.1, gt=0, lt=1, description="Part of the target epsilon that phase one alone may reach.")
    targets: Literal["renoised", "paper"] = Field(
        default="renoised", description="Regression target of phase one: renoised releases have a proof, the paper's targets have none."
    )
    phase_one_steps: int = Field(default=100, ge=0, description="Steps of phase one; 0 leaves it out.")
    phase_one_batch_size: int = Field(default=16, ge=1, description="Records in a phase-one batch, drawn without replacement.")
    phase_one_learning_rate: float = Field(default=3e-4, gt=0, description="Adam's learning rate in phase one.")
    phase_one_draws: int = Field(default=8, ge=1, description="Time steps trained per renoised release; further draws are free.")
    phase_two_steps: int = Field(default=60, ge=1, description="DP-SGD steps.")
    phase_two_batch_size: float = Field(default=450, gt=0, description="Expected Poisson batch; the sampling rate times num_records.")
    phase_two_learning_rate: float = Field(default=2e-3, gt=0, description="Adam's learning rate in phase two.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    max_grad_norm: float = Field(default=0.01, gt=0, description="Clipping norm C of a record's gradient.")
    public_dataset: str = Field(default="glyphs", description="Public images for pre-training; empty (in a form: none) for none.")
    public_records: int = Field(default=20_000, ge=1, description="Public images used.")
    pretraining_steps: int = Field(default=800, ge=0, description="Steps on public images, which cost no privacy.")
    pretraining_batch_size: int = Field(default=128, ge=1, description="Public images in a step.")
    pretraining_learning_rate: float = Field(default=1e-3, gt=0, description="Adam's learning rate on public images.")
    pretraining_schedule: image_diffusion.LearningRateSchedule = Field(
        default="cosine", description="How that learning rate falls over the steps."
    )
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()

    @property
    def uses_public_data(self) -> bool:
        """Whether there is anything to pre-train on."""
        return bool(self.public_dataset) and self.pretraining_steps > 0

    @property
    def last_private_timestep(self) -> int:
        """S, the boundary between the phases; without phase one, phase two has all time steps."""
        if not self.phase_one_steps:
            return self.diffusion.timesteps
        if self.boundary is None:
            raise WorkbenchError("Expected a boundary between the phases: give one, or an epsilon to choose it by.")
        if self.boundary >= self.diffusion.timesteps:
            raise WorkbenchError(f"Expected a boundary below the {self.diffusion.timesteps} time steps, got {self.boundary}.")
        return self.boundary

    def sample_rate(self, facts: DatasetFacts) -> float:
        """The probability with which a record joins a batch of phase two."""
        return self.phase_two_batch_size / facts.num_records

    def check_batches(self, facts: DatasetFacts) -> None:
        """Refuse batches larger than the training records."""
        for name in ("phase_one_batch_size", "phase_two_batch_size"):
            check_batch_size(name, getattr(self, name), facts)


# Images of 28x28 and more: two hours on two cores (workbench/recipes/mnist.json).
LARGE: dict[str, Any] = {
    "pretraining_steps": 600,
    "pretraining_learning_rate": 6e-4,
    "phase_one_steps": 600,
    "phase_one_draws": 2,
    "phase_two_steps": 300,
    "phase_two_learning_rate": 6e-4,
    "noise_multiplicity": 1,
    "ema_decay": 0.99,
}
