"""Hyper-parameters of DP-SGD DM: dp-promise's, less its phase one."""

from pydantic import Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import PaidLabelShares
from workbench.models.selection.config import SelectedPretraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining


class Training(DPSGD):
    """DP-SGD on all time steps."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")


class DPSGDDMConfig(MethodConfig):
    """Hyper-parameters of DP-SGD DM; None stands for what calibration finds."""

    pretraining: PublicTraining = PublicTraining()
    selected: SelectedPretraining = SelectedPretraining()
    labels: PaidLabelShares = PaidLabelShares()
    training: Training = Training()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()
