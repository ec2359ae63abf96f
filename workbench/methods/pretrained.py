"""What methods have in common that may begin with public pre-training: which records it takes, and the model that it ends with."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Target
from workbench.methods.counted_labels import CountedLabels
from workbench.methods.fields import value_at
from workbench.models.label_shares import PaidLabelShares
from workbench.models.sample_request import Source
from workbench.models.selection.config import SelectedPretraining, selected_values
from workbench.models.settings import DP_SGD, FineTunedSettings, PretrainedSettings, fine_tuned_stages
from workbench.networks import UNetConfig
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining
from workbench.training.state import State

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class GuidedModel(MethodConfig):
    """A network that learns with and without labels, and its moving average."""

    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of public images trained without their label, for guidance.")
    ema_decay: float = Field(default=0.9, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()


class GuidedDiffusion(GuidedModel):
    """The same with a diffusion process in discrete time, and how samples are drawn."""

    diffusion: DiffusionConfig = DiffusionConfig(prediction="v")
    sampler: SamplerConfig = SamplerConfig()


class PublicStart(MethodConfig):
    """What a model may begin with: public images, those among them that private records select, and counts of the labels."""

    pretraining: PublicTraining = PublicTraining()
    selected: SelectedPretraining = SelectedPretraining()
    labels: PaidLabelShares = PaidLabelShares()


class TunedStart(PublicStart):
    """The same, and DP-SGD on the whole network after it. A method's configuration is one of these and a model."""

    training: DPSGD = DPSGD()


SHAPES = tuple(f"selected.selection.{name}" for name in ("candidates", "space", "blur", "variations"))
SELECTED = Preset(
    "Private records vote for public images, training goes on with those chosen, and the private steps come last, under one bound.",
    selected_values,
)
UNCLAIMED_COUNTS = "No paper claims anything for noisy counts of labels beside the training: only the bound counts."
UNCLAIMED = "No paper claims anything for a start from images that private records selected: only the bound counts."


ConfigT = TypeVar("ConfigT", bound=PretrainedSettings)
TunedT = TypeVar("TunedT", bound=FineTunedSettings)


class Pretrained(CountedLabels[ConfigT], Generic[ConfigT]):
    """Public pre-training, perhaps on images that private records selected too, and a moving average that is kept from before any vote.

    What all of them plan alike. State, steps and samples are `workbench.models.pretrained`'s.
    """

    presets: ClassVar[dict[str, Preset]] = Method.presets | {"selected": SELECTED}
    released: ClassVar[tuple[str, ...]] = ("ema", "public_ema")
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    config: ConfigT

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The noise of the votes, if any, by their share (unless given), then what meets `epsilon` beside it."""
        selected: SelectedPretraining = value_at(config, "selected")
        if selected.takes_place:
            config = votes.with_vote_noise(config, "selected.selection", selected.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the public pre-training, or of the images that are selected from, or None."""
        if self.config.pretraining.takes_place:
            return self.config.pretraining.dataset
        return self.config.selected.selection.dataset if self.config.selected.takes_place else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        used = self.config.pretraining if self.config.pretraining.takes_place else self.config.selected.selection
        return used.records

    @property
    def needs_public_labels(self) -> bool:
        """Where votes go by a classifier's features."""
        return self.config.selected.selection.needs_public_labels

    @property
    def has_public_model(self) -> bool:
        """The moving average that public pre-training ended with, before any vote."""
        return self.config.pretraining.takes_place

    @property
    def selects_public(self) -> bool:
        """Where it began with a selection."""
        return self.config.selected.takes_place

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's, where it begins as the paper does and releases nothing more."""
        if self.config.selected.takes_place or self.config.labels.are_released:
            reason = UNCLAIMED if self.config.selected.takes_place else UNCLAIMED_COUNTS
            return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
        return self.claim_of_paper(facts, delta)

    @abstractmethod
    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's own number by the paper's own formula, for a start without a selection."""

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights; that of public pre-training alone for the source "public"."""
        return self.implemented.denoiser(self.config, state, source)


class FineTuned(Pretrained[TunedT]):
    """Public pre-training, if any, then DP-SGD: what is planned. The two losses and the sampler are a method's own."""

    shapes: ClassVar[tuple[str, ...] | None] = ("network", "training.noise_multiplicity", *SHAPES)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    interruptible: ClassVar[tuple[str, ...]] = (DP_SGD,)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), DP-SGD."""
        self.config.network.check_patches(*facts.shape[1:])
        return fine_tuned_stages(self.config, facts)
