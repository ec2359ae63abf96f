"""Hyper-parameters of DPDM."""

from pydantic import Field

from workbench.diffusion.edm import EDMConfig, EDMSamplerConfig
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import PaidLabelShares
from workbench.models.selection.config import SelectedPretraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining


class Pretraining(PublicTraining):
    """Ordinary training on public images; the paper has none."""

    dataset: str = Field(default="", description="Public images for pre-training; empty (in a form: none) for none, as in the paper.")


class Training(DPSGD):
    """DP-SGD on all noise levels."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=4, ge=1, description="Noise samples K, each at its own level, that a loss is averaged over.")


class DPDMConfig(MethodConfig):
    """Hyper-parameters of DPDM; None stands for what calibration finds."""

    pretraining: Pretraining = Pretraining()
    selected: SelectedPretraining = SelectedPretraining()
    labels: PaidLabelShares = PaidLabelShares()
    training: Training = Training()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of records trained without their label, in all K samples.")
    ema_decay: float = Field(default=0.95, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: EDMConfig = EDMConfig()
    sampler: EDMSamplerConfig = EDMSamplerConfig()
