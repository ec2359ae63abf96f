"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Target, Workload
from workbench.methods.selective_pretraining import presets, stages
from workbench.methods.selective_pretraining.config import SelectivePretrainingConfig
from workbench.methods.selective_pretraining.stages import REFINEMENT
from workbench.models.latents.config import AUTOENCODER
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.config import CLASSIFIER, DENOISER, RELEASED, SELECTIVE, VOTES
from workbench.models.settings import PRETRAINING
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class SelectivePretraining(Method):
    """Public images that private records voted for, a diffusion model of them, and DP-SGD on its early time steps: one bound."""

    name = "selective-pretraining"
    title = "Selective pre-training"
    source = "Yu et al. 2023, with the votes of Lin et al. 2024 and the start of Meng et al. 2022"
    Config = SelectivePretrainingConfig
    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema", *RELEASED)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler", "draws")
    workload: ClassVar[Workload] = Workload(
        {
            AUTOENCODER: ("latents.batch_size",),
            PRETRAINING: ("pretraining.batch_size",),
            CLASSIFIER: ("selection.classifier.batch_size",),
            DENOISER: ("selection.denoiser.batch_size",),
            VOTES: ("num_records",),
            SELECTIVE: ("selective.batch_size",),
            REFINEMENT: ("refinement.batch_size", "refinement.noise_multiplicity"),
        },
        (
            "network",
            "latents.channels",
            "latents.width",
            "refinement.noise_multiplicity",
            "selection.candidates",
            "selection.space",
            "selection.blur",
            "selection.variations",
        ),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("refinement.noise_multiplier"),)
    config: SelectivePretrainingConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or in an hour (28x28)."""
        return presets.defaults(facts)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise of the votes by their share (unless given), then the noise of the refinement that meets `epsilon` with it."""
        assert isinstance(config, SelectivePretrainingConfig)
        config = votes.fitted(config, "selection", config.selection_share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def released_parts(self) -> tuple[str, ...]:
        """The model that varies what is drawn too, and the one that decodes samples, if there are any."""
        return (*self.released, *self.config.selection.released_models, *self.config.latents.released_models)

    @property
    def public_dataset(self) -> str | None:
        """The images that are selected from, and trained on before."""
        return self.config.selection.dataset

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.selection.records

    @property
    def has_public_model(self) -> bool:
        """The moving average that training on unselected images ended with, applied to unselected images."""
        return self.config.pretraining.steps > 0

    @property
    def selects_public(self) -> bool:
        """All that the model learned from before DP-SGD."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """An autoencoder if any (free), public pre-training (free), the selection, training on what was selected (free), DP-SGD."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It joins what three papers propose each, and none of them claims anything for the whole: only its bound counts."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages, an Adam a stage, and room for candidates and votes."""
        from workbench.methods.selective_pretraining import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Public images, the selection, what was selected, DP-SGD."""
        from workbench.methods.selective_pretraining import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Selected images, noised as far as the start and denoised; source 'public' does so before the first vote."""
        from workbench.methods.selective_pretraining import sampling

        return sampling.sample(self.config, state, request)
