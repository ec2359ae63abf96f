"""Hyper-parameters of DPGEN."""

from pydantic import Field

from workbench.diffusion.langevin import LangevinConfig
from workbench.methods.base import MethodConfig
from workbench.models.recovery.config import Responses, ScoreTraining
from workbench.networks import UNetConfig


class DPGENConfig(MethodConfig):
    """Hyper-parameters of DPGEN."""

    responses: Responses = Responses()
    training: ScoreTraining = ScoreTraining()
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    langevin: LangevinConfig = LangevinConfig()
