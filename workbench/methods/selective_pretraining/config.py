"""Hyper-parameters of selective pre-training."""

from typing import ClassVar, Literal

from pydantic import Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.models.latents.config import Latents
from workbench.models.selection.config import Draws, Selection, SelectiveTraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches


class Votes(Selection):
    """The selection; without a round there is nothing to learn from."""

    rounds: int = Field(default=4, ge=1, le=1_000, description="How often all records vote.")


class UnselectedTraining(OrdinaryTraining):
    """Steps on public images before anything is selected; what they end in is the model at epsilon 0."""

    switches: ClassVar[Switches] = {"steps": (0,)}

    steps: int = Field(default=200, ge=0, description="Steps on unselected public images, which cost no privacy; 0 leaves them out.")
    batch_size: int = Field(default=128, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate on public images.")


class Refinement(DPSGD):
    """DP-SGD on the private records themselves."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    trained: Literal["all", "up"] = Field(default="all", description="Layers that these steps train: all, or the U-Net's way up alone.")


class SelectivePretrainingConfig(MethodConfig):
    """Hyper-parameters of selective pre-training; None stands for what calibration finds."""

    selection: Votes = Votes()
    selection_share: float = Field(
        default=0.25, ge=1e-4, le=0.9999, description="Part of the target's mu^2 (Gaussian differential privacy) that the votes take."
    )
    start: int = Field(
        default=400, ge=1, description="Time step that selected images are noised to and samples start from; the last is pure noise."
    )
    latents: Latents = Latents()
    pretraining: UnselectedTraining = UnselectedTraining()
    selective: SelectiveTraining = SelectiveTraining()
    refinement: Refinement = Refinement()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    draws: Draws = Draws()
    sampler: SamplerConfig = SamplerConfig(name="dpm-solver++", num_inference_steps=10, spacing="quadratic", eta=0.0)
