"""Hyper-parameters of ordinary diffusion training."""

from pydantic import Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.networks import UNetConfig
from workbench.training.ordinary import OrdinaryTraining


class Training(OrdinaryTraining):
    """Ordinary steps on the records themselves."""

    steps: int = Field(default=1500, ge=1, description="Optimiser steps.")


class NonPrivateConfig(MethodConfig):
    """Hyper-parameters of ordinary diffusion training."""

    training: Training = Training()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of records trained without their label, for guidance.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()
