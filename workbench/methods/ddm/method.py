"""Discrete diffusion on tables after Wei et al. 2024: a value for each record, or the same model by DP-SGD with a proved bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.discrete.config import DiscreteConfig
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.methods.grouped_columns import GroupedColumns, GroupedConfig
from workbench.models.grouping import RELEASED
from workbench.models.grouping.rows import nats_within
from workbench.networks.config import TableNetworkConfig
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue, Target
from workbench.records import Records
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import State

if TYPE_CHECKING:
    import numpy as np

    from workbench.privacy.not_dp.per_instance import DenoiserError, Leakage


class PrivateTraining(DPSGD):
    """Noisy steps on clipped gradients, where `private` asks for them."""

    max_grad_norm: float = Field(default=0.2, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    batch_size: float = Field(default=200, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=100, ge=1, description="DP-SGD steps.")
    noise_multiplicity: int = Field(default=8, ge=1, description="Noisy copies K that a record's loss is averaged over.")
    learning_rate: float = Field(default=0.1, ge=1e-9, le=1e3, description="Adam's learning rate.")


class UnprotectedTraining(OrdinaryTraining):
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
    unprotected: UnprotectedTraining = UnprotectedTraining()
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


DP_SGD, TRAINING = "DP-SGD", "training"
UNPROTECTED = (
    "Gradients of private records enter the weights without clipping or noise: what a sample shows of a record depends on the others, "
    "and no epsilon holds for all tables."
)


SOURCE = "Wei et al. 2024 (DDM), Theorem 1"
PER_INSTANCE = (
    "The guarantee is per instance: its delta depends on the other records of the table, and no epsilon holds for all tables. "
    "The values per record are on the Records page."
)
COMBINED = (
    "The paper proposes to combine its model with DP-SGD and states no number for it. What is proved of these steps is the bound beside it."
)
READINGS = {
    "ddm": Reading(
        title="Discrete diffusion on tables, per-instance DP; not evaluated: psi, eta and c* are not defined in the text we have",
        preset="published",
        formula="delta <= m [sum over t of (min{4 N/s, 1} n/s^psi + n (1 - 1/Rb)/s^2) + errors] / (eps (1 - e^-eps))",
        notation={"num_records": "s"},
        dataset="breast-cancer",
    )
}


def claimed(*, private: bool, delta: float) -> PrivacyValue:
    """No epsilon, and why: the paper's guarantee is about single records, and its combination with DP-SGD a proposal."""
    reason = COMBINED if private else PER_INSTANCE
    return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=SOURCE)


PRESETS = Method.presets | {
    "published": Preset(
        "As Wei et al. train: on the records themselves, with a value for each record and no bound; hidden layers beside the linear map.",
        lambda _facts: {"private": False, "network.hidden_width": 128, "ema_decay": 0.99},
    )
}


class DDM(GroupedColumns):
    """A denoiser of rows with uniform kernels per column, the class one more column; by DP-SGD, or as the paper trains."""

    name = "ddm"
    title = "Discrete diffusion on tables"
    source = "Wei et al. 2024"
    Config = DDMConfig
    implementation = "workbench.methods.ddm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("ema", *RELEASED)
    sampling_fields: ClassVar[tuple[str, ...]] = ("release_time",)
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "training.noise_multiplicity", "private")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    interruptible: ClassVar[tuple[str, ...]] = (DP_SGD,)
    config: DDMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Batches of at most half the records by DP-SGD, and of no more than there are without it.

        The defaults by DP-SGD (the linear map alone, 100 large steps) and the preset's were chosen on a split of the training records
        of breast-cancer, 300 to train and 100 to choose by; the held-out records were not looked at.
        """
        batch = min(4096.0, max(1.0, facts.num_records / 2))
        return {"training.batch_size": batch, "unprotected.batch_size": min(128, facts.num_records)}

    @classmethod
    def takes_epsilon(cls, config: MethodConfig) -> bool:
        """Where it trains by DP-SGD."""
        assert isinstance(config, DDMConfig)
        return config.private

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise whose bound meets `epsilon`; nothing is noised without private=true, and the paper claims no epsilon."""
        if not cls.takes_epsilon(config):
            raise WorkbenchError(f"No setting without private=true bounds this run. {PER_INSTANCE} Use private=true.")
        if target == "claim":
            raise WorkbenchError(f"No setting meets a claim: the paper claims no epsilon. {COMBINED} Use target=bound.")
        return super().calibrated(config, facts, epsilon, delta, target)

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The private steps, a Poisson-sampled Gaussian; or the ordinary ones, each of which shows the gradient of private records."""
        if self.config.private:
            return [self.config.training.stage(DP_SGD, facts.num_records)]
        return [replace(self.config.unprotected.unprotected_stage(TRAINING, facts.num_records), reason=UNPROTECTED)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No epsilon: the paper's guarantee is per instance."""
        return claimed(private=self.config.private, delta=delta)

    def bound_terms(self, state: State, data: Records, seed: int = 0) -> dict[str, np.ndarray]:
        """The terms of the evidence lower bound of the moving average of the weights, in nats (N,) each."""
        _, rows = self.seen(state, data)
        terms: dict[str, np.ndarray] = self.implemented.bound_terms(self.config, self.of_model(state), rows, seed)
        return terms | {"reconstruction": terms["reconstruction"] + nats_within(self.grouping, data, state)}

    def per_instance(
        self, facts: DatasetFacts, data: Records, num_draws: int, seed: int = 0, progress: Callable[[float], None] | None = None
    ) -> Leakage:
        """J of every record in the chain of all that are present, its class among its columns; of the ideal denoiser."""
        return self.implemented.per_instance(self.config, facts, data, num_draws, seed, progress)

    def denoiser_error(self, state: State, data: Records, seed: int = 0) -> DenoiserError:
        """gamma_t and gamma~_t of the moving average of the weights, by draws of `seed`."""
        _, rows = self.seen(state, data)
        return self.implemented.denoiser_error(self.config, self.of_model(state), rows, seed)
