"""Selective pre-training: private records choose public images, a diffusion model learns those, DP-SGD refines it. One bound.

The selection is Private Evolution (Lin et al. 2024); to pre-train on what was selected privately and then to fine-tune privately
is the plan of Yu et al. 2023. New is what samples start from: selected images that are noised as far as a time step, so that the
network learns the early time steps alone, where detail is decided, and keeps what the selection already gave.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Target
from workbench.models.latents.config import Latents
from workbench.models.selection.config import RELEASED, SELECTIVE, Draws, Selection, SelectiveTraining
from workbench.models.selection.config import defaults as selection_defaults
from workbench.models.settings import PRETRAINING, check_model, default_network
from workbench.networks import UNETS, UNetConfig
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches


class Votes(Selection):
    """The selection; without a round there is nothing to learn from."""

    rounds: int = Field(default=4, ge=1, le=1_000, description="How often all records vote.")


class UnselectedTraining(OrdinaryTraining):
    """Steps on public images before anything is selected; what they end in is the model at epsilon 0."""

    switches: ClassVar[Switches] = {"steps": (0,)}

    steps: int = Field(default=200, ge=0, description="Steps on unselected public images, which cost no privacy; 0 leaves them out.")
    batch_size: int = Field(default=128, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate on public images.")


class Refinement(DPSGD):
    """DP-SGD on the private records themselves."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")
    trained: Literal["all", "up"] = Field(default="all", description="Layers that these steps train: all, or the U-Net's way up alone.")


class SelectivePretrainingConfig(MethodConfig):
    """Hyper-parameters of selective pre-training; None stands for what calibration finds."""

    selection: Votes = Votes()
    selection_share: float = Field(
        default=0.25, ge=1e-4, le=0.9999, description="Part of the target's mu^2 (Gaussian differential privacy) that the votes take."
    )
    start: int = Field(
        default=400, ge=1, description="Time step that selected images are noised to and samples start from; the last is pure noise."
    )
    latents: Latents = Latents()
    pretraining: UnselectedTraining = UnselectedTraining()
    selective: SelectiveTraining = SelectiveTraining()
    refinement: Refinement = Refinement()
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    draws: Draws = Draws()
    sampler: SamplerConfig = SamplerConfig(name="dpm-solver++", num_inference_steps=10, spacing="quadratic", eta=0.0)


REFINEMENT = "refinement"


def check_start(config: SelectivePretrainingConfig) -> None:
    """Refuse a start that is no time step, or that leaves the sampler fewer than it takes steps."""
    if config.start > config.diffusion.timesteps:
        raise WorkbenchError(f"Expected a start of at most the {config.diffusion.timesteps} time steps, got {config.start}.")
    if config.sampler.num_inference_steps > config.start:
        raise WorkbenchError(f"Expected sampler.num_inference_steps of at most the start, {config.start}.")


LARGE: dict[str, Any] = {  # docs/record.md: why
    "start": 100,
    "pretraining.steps": 100,
    "pretraining.learning_rate": 2e-3,
    "selective.steps": 400,
    "selective.learning_rate": 2e-3,
    "refinement.steps": 600,
    "refinement.noise_multiplicity": 1,
    "sampler.name": "ddim",
    "sampler.num_inference_steps": 4,
    "sampler.spacing": "even",
    "sampler.eta": 1.0,
    "ema_decay": 0.95,
}


class SelectivePretraining(Method):
    """Public images that private records voted for, a diffusion model of them, and DP-SGD on its early time steps: one bound."""

    name = "selective-pretraining"
    title = "Selective pre-training"
    source = "Yu et al. 2023, with the votes of Lin et al. 2024 and the start of Meng et al. 2022"
    Config = SelectivePretrainingConfig
    implementation = "workbench.methods.selective_pretraining.training"
    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema", *RELEASED)
    interruptible: ClassVar[tuple[str, ...]] = (REFINEMENT,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler", "draws")
    shapes: ClassVar[tuple[str, ...] | None] = (
        "network",
        "latents.channels",
        "latents.width",
        "refinement.noise_multiplicity",
        "selection.candidates",
        "selection.space",
        "selection.blur",
        "selection.variations",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("refinement.noise_multiplier"),)
    config: SelectivePretrainingConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or in an hour (28x28)."""
        values: dict[str, Any] = {**selection_defaults(facts)}
        values["network"] = default_network(facts)
        if facts.dimensions > 300:
            values |= LARGE
            if facts.shape[0] == 1 and not (facts.shape[1] % 2 or facts.shape[2] % 2):
                values["network"] = UNETS["patches-28"].model_dump()
        return values | {"refinement.batch_size": min(1000 if facts.dimensions > 300 else 450, facts.num_records)}

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise of the votes by their share (unless given), then the noise of the refinement that meets `epsilon` with it."""
        assert isinstance(config, SelectivePretrainingConfig)
        config = votes.with_vote_noise(config, "selection", config.selection_share, facts, epsilon, delta)
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
    def needs_public_labels(self) -> bool:
        """Where votes go by a classifier's features."""
        return self.config.selection.needs_public_labels

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
        check_model(self.config, self.config.latents.learned(facts))
        check_start(self.config)
        first = [self.config.pretraining.free_stage(PRETRAINING)] if self.config.pretraining.steps else []
        selected = [*self.config.selection.stages(facts), self.config.selective.free_stage(SELECTIVE)]
        return [*self.config.latents.stages(), *first, *selected, self.config.refinement.stage(REFINEMENT, facts.num_records)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It joins what three papers propose each, and none of them claims anything for the whole: only its bound counts."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
