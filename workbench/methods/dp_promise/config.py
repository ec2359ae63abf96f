"""Hyper-parameters of dp-promise and what follows from them."""

from typing import ClassVar, Literal

from pydantic import Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import PaidLabelShares
from workbench.models.selection.config import SelectedPretraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining, PublicTraining, Schedule
from workbench.training.switches import Switches


class PhaseOne(OrdinaryTraining):
    """Steps on noised records."""

    switches: ClassVar[Switches] = {"steps": (0,)}

    steps: int = Field(default=100, ge=0, description="Steps of phase one; 0 leaves it out.")
    batch_size: int = Field(default=16, ge=1, description="Records in a phase-one batch, drawn without replacement.")
    learning_rate: float = Field(default=3e-4, ge=1e-9, le=1e3, description="Adam's learning rate in phase one.")
    schedule: Schedule = Field(default="constant", description="How the learning rate falls over the steps.")
    draws: int = Field(default=8, ge=1, description="Time steps trained per renoised release; further draws are free.")
    share: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the target epsilon that phase one alone may reach.")


class PhaseTwo(DPSGD):
    """DP-SGD on the time steps up to the boundary."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    trained: Literal["all", "up"] = Field(default="all", description="Layers that these steps train: all, or the U-Net's way up alone.")


class DPPromiseConfig(MethodConfig):
    """Hyper-parameters of dp-promise; None stands for what calibration finds."""

    boundary: int | None = Field(
        default=None, ge=1, description="Time step S between the phases; empty takes the smallest whose phase-one bound fits its share."
    )
    targets: Literal["renoised", "one-shot", "paper"] = Field(
        default="renoised",
        description="Regression target of phase one: renoised releases have a proof, and so has a single noised copy of every record "
        "(one-shot); the paper's targets have none.",
    )
    conditional: bool = Field(
        default=True, description="Train with labels and draw by them; otherwise no stage reads a label, and no sample has one."
    )
    pretraining: PublicTraining = PublicTraining()
    selected: SelectedPretraining = SelectedPretraining()
    labels: PaidLabelShares = PaidLabelShares()
    phase_one: PhaseOne = PhaseOne()
    phase_two: PhaseTwo = PhaseTwo()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()

    @property
    def last_private_timestep(self) -> int:
        """S, the boundary between the phases; without phase one, phase two has all time steps."""
        if not self.phase_one.steps:
            return self.diffusion.timesteps
        if self.boundary is None:
            raise WorkbenchError("Expected a boundary between the phases: give one, or an epsilon to choose it by.")
        if self.boundary >= self.diffusion.timesteps:
            raise WorkbenchError(f"Expected a boundary below the {self.diffusion.timesteps} time steps, got {self.boundary}.")
        return self.boundary
