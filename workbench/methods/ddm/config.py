"""Hyper-parameters of discrete diffusion on tables."""

from typing import Self

from pydantic import Field, model_validator

from workbench.diffusion.discrete.config import DiscreteConfig
from workbench.methods.grouped_columns import GroupedConfig
from workbench.networks.config import TableNetworkConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining


class PrivateTraining(DPSGD):
    """Noisy steps on clipped gradients, where `private` asks for them."""

    max_grad_norm: float = Field(default=0.2, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    batch_size: float = Field(default=200, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=100, ge=1, description="DP-SGD steps.")
    noise_multiplicity: int = Field(default=8, ge=1, description="Noisy copies K that a record's loss is averaged over.")
    learning_rate: float = Field(default=0.1, ge=1e-9, le=1e3, description="Adam's learning rate.")


class Unprotected(OrdinaryTraining):
    """Ordinary steps on the records themselves, where `private` does not forbid them."""

    steps: int = Field(default=3000, ge=1, description="Steps without protection.")
    batch_size: int = Field(default=128, ge=1, description="Records in a step without protection.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate without protection.")


class DDMConfig(GroupedConfig):
    """Hyper-parameters of discrete diffusion on tables; None stands for what calibration finds."""

    private: bool = Field(
        default=True, description="Train by DP-SGD, with a proved bound; if not, as the paper does: values per record, and no bound."
    )
    training: PrivateTraining = PrivateTraining()
    unprotected: Unprotected = Unprotected()
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: TableNetworkConfig = TableNetworkConfig(hidden_width=0)
    diffusion: DiscreteConfig = DiscreteConfig()
    release_time: int = Field(
        default=0, ge=0, description="T_rl: the time step at which samples are released; above 0 they keep some noise, and show less."
    )

    @model_validator(mode="after")
    def _is_released_before_the_start(self) -> Self:
        if self.release_time >= self.diffusion.timesteps:
            raise ValueError(f"Expected a release_time below the {self.diffusion.timesteps} time steps, got {self.release_time}.")
        return self
