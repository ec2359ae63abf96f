"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, MethodConfig, Preset, Reading, Workload
from workbench.methods.ddm import claim, presets, stages
from workbench.methods.ddm.config import DDMConfig
from workbench.methods.ddm.stages import DP_SGD, TRAINING
from workbench.methods.grouped_columns import GroupedColumns
from workbench.models.grouping import COUNTS, EDGES, RELEASED
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue, Target
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    import numpy as np

    from workbench.privacy.not_dp.per_instance import DenoiserError, Leakage


class DDM(GroupedColumns):
    """A denoiser of rows with uniform kernels per column, the class one more column; by DP-SGD, or as the paper trains."""

    name = "ddm"
    title = "Discrete diffusion on tables"
    source = "Wei et al. 2024"
    Config = DDMConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("ema", *RELEASED)
    sampling_fields: ClassVar[tuple[str, ...]] = ("release_time",)
    workload: ClassVar[Workload] = Workload(
        {DP_SGD: ("training.batch_size", "training.noise_multiplicity"), TRAINING: ("unprotected.batch_size",)}
        | dict.fromkeys((EDGES, COUNTS), ("num_records",)),
        ("network", "training.noise_multiplicity", "private"),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    config: DDMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Batches that suit the number of records."""
        return presets.defaults(facts)

    @classmethod
    def takes_epsilon(cls, config: MethodConfig) -> bool:
        """Where it trains by DP-SGD."""
        assert isinstance(config, DDMConfig)
        return config.private

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise whose bound meets `epsilon`; nothing is noised without private=true, and the paper claims no epsilon."""
        if not cls.takes_epsilon(config):
            raise WorkbenchError(f"No setting without private=true bounds this run. {claim.PER_INSTANCE} Use private=true.")
        if target == "claim":
            raise WorkbenchError(f"No setting meets a claim: the paper claims no epsilon. {claim.COMBINED} Use target=bound.")
        return super().calibrated(config, facts, epsilon, delta, target)

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Noisy steps, or steps that nothing bounds."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No epsilon: the paper's guarantee is per instance."""
        return claim.claimed(private=self.config.private, delta=delta)

    def model_state(self, facts: DatasetFacts, state: State) -> State:
        """The denoiser, its moving average and Adam."""
        from workbench.methods.ddm import training

        return training.initial_state(self.config, facts, state)

    def fit_model(self, data: Records, state: State) -> Iterator[Step]:
        """Cross-entropy of the clean record."""
        from workbench.methods.ddm import training

        yield from training.fit(self.config, data, state)

    def sample_model(self, state: State, request: SampleRequest) -> Records:
        """Rows of the reverse chain as they stand at the release time."""
        from workbench.methods.ddm import sampling

        return sampling.sample(self.config, state, request)

    def bound_terms(self, state: State, data: Records, seed: int = 0) -> dict[str, np.ndarray]:
        """The terms of the evidence lower bound of the moving average of the weights, in nats (N,) each."""
        from workbench.methods.ddm import sampling
        from workbench.models.grouping.rows import nats_within

        found = sampling.bound_terms(self.config, self.of_model(state), self.grouped(state, data), seed)
        return found | {"reconstruction": found["reconstruction"] + nats_within(self.grouping, data, state)}

    def per_instance(
        self, facts: DatasetFacts, data: Records, num_draws: int, seed: int = 0, progress: Callable[[float], None] | None = None
    ) -> Leakage:
        """J of every record in the chain of all that are present, its class among its columns; of the ideal denoiser."""
        from workbench.methods.ddm import exposure

        return exposure.per_instance(self.config, facts, data, num_draws, seed, progress)

    def denoiser_error(self, state: State, data: Records, seed: int = 0) -> DenoiserError:
        """gamma_t and gamma~_t of the moving average of the weights, by draws of `seed`."""
        from workbench.methods.ddm import denoiser_error

        return denoiser_error.measured(self.config, self.of_model(state), self.grouped(state, data), seed)
