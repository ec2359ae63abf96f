"""Hyper-parameters of ordinary diffusion training."""

from pydantic import Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods.base import MethodConfig
from workbench.models import image_diffusion
from workbench.networks import UNetConfig


class NonPrivateConfig(MethodConfig):
    """Hyper-parameters of ordinary diffusion training."""

    steps: int = Field(default=1500, ge=1, description="Optimiser steps.")
    batch_size: int = Field(default=128, ge=1, description="Records in a step.")
    learning_rate: float = Field(default=1e-3, gt=0, description="Adam's learning rate.")
    schedule: image_diffusion.LearningRateSchedule = Field(default="cosine", description="How the learning rate falls over the steps.")
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of records trained without their label, for guidance.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()
