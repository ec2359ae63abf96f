"""Hyper-parameters of DP-Diffusion."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.methods.dp_diffusion.mixture import TimestepMixture
from workbench.models.label_shares import PaidLabelShares
from workbench.models.selection.config import SelectedPretraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining
from workbench.training.switches import Switches


class FineTuning(DPSGD):
    """DP-SGD on all weights."""

    max_grad_norm: float = Field(default=1e-3, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(
        default=4,
        ge=1,
        description="Augmentation multiplicity K: draws of flip, crop, time step and noise in a gradient.",
    )


class Augmentation(BaseModel):
    """How a record is changed anew in each of its K draws."""

    switches: ClassVar[Switches] = {"crop": (0, 1)}

    model_config = ConfigDict(frozen=True, extra="forbid")

    flips: bool = Field(default=False, description="Mirror half of the draws left to right; not for images that read one way.")
    crop: int = Field(default=0, ge=0, le=32, description="Most pixels by which a draw is cropped; the edge is repeated on the other side.")


class DPDiffusionConfig(MethodConfig):
    """Hyper-parameters of DP-Diffusion."""

    pretraining: PublicTraining = PublicTraining()
    selected: SelectedPretraining = SelectedPretraining()
    labels: PaidLabelShares = PaidLabelShares()
    fine_tuning: FineTuning = FineTuning()
    augmentation: Augmentation = Augmentation()
    timestep_mixture: TimestepMixture = TimestepMixture()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()
