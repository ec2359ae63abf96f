"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, Preset, Reading, Workload
from workbench.methods.chu_dpdm import claim, presets, stages
from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.methods.chu_dpdm.presets import PRESETS
from workbench.methods.chu_dpdm.stages import TRAINING
from workbench.models.sample_request import SampleRequest, Source
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class ChuDPDM(Method):
    """A model with learned variances from scratch, under a clipping threshold that public batches set anew at every step."""

    name = "chu-dpdm"
    title = "DPDM (Chu et al.)"
    source = "Chu et al. 2023, Algorithm 1"
    Config = ChuDPDMConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("ema",)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    workload: ClassVar[Workload] = Workload(
        {TRAINING: ("training.batch_size", "training.noise_multiplicity")},
        ("network", "training.noise_multiplicity", "training.clipping", "training.threshold", "training.groups"),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (
        CalibratedField("training.noise_multiplier"),
        CalibratedField("training.steps", low=1, high=10**7, increasing=True, whole=True),
    )
    config: ChuDPDMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and large batches."""
        return presets.defaults(facts)

    @property
    def public_dataset(self) -> str | None:
        """The dataset whose gradients set the threshold, or None."""
        return self.config.public.dataset if self.config.training.threshold == "public" else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.public.records

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The noisy steps."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's RDP of all steps, without amplification; a bound where its proof is about the mechanism that runs."""
        training = self.config.training
        why = claim.BATCH_CLIPPED if training.clipping == "batch" else claim.PRIVATE_THRESHOLD
        return claim.claimed(
            noise_multiplier=training.known_noise_multiplier(TRAINING),
            steps=training.known_steps(),
            delta=delta,
            unproved="" if self.config.is_proved else why,
        )

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Gaussian steps without amplification."""
        return stages.claimed_stages(self.config)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """A network whose output has room for variances, its moving average and Adam."""
        from workbench.methods.chu_dpdm import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Algorithm 1 in the reading of the configuration."""
        from workbench.methods.chu_dpdm import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average of the weights."""
        from workbench.methods.chu_dpdm import sampling

        return sampling.sample(self.config, state, request)

    def bits_per_dimension(self, state: State, data: Records, seed: int = 0) -> np.ndarray:
        """L_vlb of every record under the moving average of the weights, in bits per dimension (N,)."""
        from workbench.methods.chu_dpdm import sampling

        return sampling.bits_per_dimension(self.config, state, data, seed)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_diffusion(self.config, image_diffusion.averaged(state), state)
