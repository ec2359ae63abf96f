"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, Preset, Reading, Workload
from workbench.methods.dp_merf import claim, stages
from workbench.methods.dp_merf.config import DPMERFConfig
from workbench.methods.dp_merf.presets import PRESETS
from workbench.methods.dp_merf.stages import GENERATOR, RELEASE
from workbench.models.label_shares import LABEL_COUNTS
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class DPMERF(Method):
    """One release of the label-wise mean of random Fourier features; everything after it is post-processing."""

    name = "dp-merf"
    title = "DP-MERF"
    source = "Harder, Adamczewski and Park 2021"
    Config = DPMERFConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("generator",)
    workload: ClassVar[Workload] = Workload(
        {RELEASE: ("num_records",), GENERATOR: ("training.batch_size",)}, ("num_features", "latent_size", "hidden_size", "channels")
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: DPMERFConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """10 000 features where images have hundreds of pixels; small images need fewer, which add less noise.

        Mostly black images want the smaller learning rate: at 1e-2 the generator may fall to all black and stay there.
        """
        return {"num_features": 10_000, "training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    @property
    def released_parts(self) -> tuple[str, ...]:
        """The generator, and the counts of labels where samples follow them."""
        return (*self.released, *[LABEL_COUNTS] * self.config.labels.are_released)

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by counts that were paid for."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release, and the generator's training that is free."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's analytic Gaussian mechanism at sensitivity 2/num_records, with that of the counts, if these are released."""
        assert self.config.noise_multiplier is not None
        counts_noise = self.config.labels.noise_multiplier if self.config.labels.are_released else math.inf
        return claim.claimed(noise_multiplier=self.config.noise_multiplier, delta=delta, counts_noise=counts_noise)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The generator, Adam, and room for the one release."""
        from workbench.methods.dp_merf import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Release the noisy mean embedding once, then fit the generator to it."""
        from workbench.methods.dp_merf import training

        yield from training.fit(self.config, data, state)

    def noise_share(self, state: State) -> float:
        """Of the squared norm of the released embedding."""
        from workbench.methods.dp_merf.training import release_grid

        embedding, deviation = state.tensors["embedding"], release_grid(self.config, state.facts).deviation / state.facts.num_records
        return min(1.0, embedding.numel() * deviation**2 / max(float(embedding.square().sum()), 1e-300))

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the generator for standard normal inputs."""
        from workbench.methods.dp_merf import sampling

        return sampling.sample(self.config, state, request)
