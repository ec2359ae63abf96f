"""What methods have in common that may begin with public pre-training: which records it takes, and the model that it ends with."""

import math
from abc import abstractmethod
from typing import ClassVar, Generic, Self, TypeVar

from workbench.datasets.base import DatasetFacts
from workbench.methods import votes
from workbench.methods.base import Method, MethodConfig, Preset, Target
from workbench.methods.fields import value_at
from workbench.models.label_shares import LABEL_COUNTS
from workbench.models.selection.config import CLASSIFIER, DENOISER, SELECTIVE, VOTES, SelectedPretraining, selected_values
from workbench.models.settings import PRETRAINING, PretrainedSettings
from workbench.privacy.accounting.values import PrivacyValue

ROWS = {  # of a Workload: what a step of each stage before the method's own passes through its network
    PRETRAINING: ("pretraining.batch_size",),
    CLASSIFIER: ("selected.selection.classifier.batch_size",),
    DENOISER: ("selected.selection.denoiser.batch_size",),
    VOTES: ("num_records",),
    SELECTIVE: ("selected.batch_size",),
}
SHAPES = tuple(f"selected.selection.{name}" for name in ("candidates", "space", "blur", "variations"))
SELECTED = Preset(
    "Private records vote for public images, training goes on with those chosen, and the private steps come last, under one bound.",
    selected_values,
)
UNCLAIMED_COUNTS = "No paper claims anything for noisy counts of labels beside the training: only the bound counts."
UNCLAIMED = "No paper claims anything for a start from images that private records selected: only the bound counts."


ConfigT = TypeVar("ConfigT", bound=PretrainedSettings)


class Pretrained(Method, Generic[ConfigT]):
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
            config = votes.fitted(config, "selected.selection", selected.share, facts, epsilon, delta)
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
    def has_public_model(self) -> bool:
        """The moving average that public pre-training ended with, before any vote."""
        return self.config.pretraining.takes_place

    @property
    def released_parts(self) -> tuple[str, ...]:
        """Both averages, and the counts of labels where samples follow them."""
        return (*self.released, *[LABEL_COUNTS] * self.config.labels.are_released)

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by counts that were paid for."""
        return self.config.labels.are_released

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
