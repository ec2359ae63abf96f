"""What a private selection of public images is asked for, and what it releases. No torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

CLASSIFIER, DENOISER, CANDIDATES, VOTES = "public classifier", "public denoiser", "candidates", "votes"  # the stages
SELECTIVE = "selective pre-training"  # the one on what was selected
RELEASED = ("public_candidates", "candidates", "votes")  # the parts of the state that images are drawn from

Variation = Literal["warp", "crisp-warp", "stroke", "crop", "colour", "mixing", "denoise"]
DRAWN: tuple[Variation, ...] = ("warp", "stroke")  # for images of one channel
COLOURED: tuple[Variation, ...] = ("crop", "colour", "mixing")
MOST_CANDIDATES, FEWEST_CANDIDATES = 600, 40
FEW_RECORDS = 1_000  # in a class: below, more candidates share each record's vote, which raises them above the noise


class ClassifierTraining(OrdinaryTraining):
    """The classifier of public images whose features votes may be cast in."""

    steps: int = Field(default=1_000, ge=1, description="Steps on public images, which cost no privacy.")
    batch_size: int = Field(default=64, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's first learning rate.")


class DenoiserTraining(OrdinaryTraining):
    """The diffusion model of public images that the variation `denoise` asks."""

    steps: int = Field(default=800, ge=1, description="Steps on public images, which cost no privacy.")
    batch_size: int = Field(default=64, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's first learning rate.")
    strength: float = Field(
        default=0.4, ge=1e-4, le=1, description="Share of the time steps that a variation of size 1 noises an image to."
    )
    num_inference_steps: int = Field(default=8, ge=1, le=1_000, description="Network evaluations that take the noise away again.")


class Selection(BaseModel):
    """Rounds in which every private record votes for the candidates of its class that are nearest to it (Lin et al. 2024, 2025).

    Candidates are public images in the first round; later ones are drawn in proportion to the noisy votes, repeats varied. A
    method with defaults of its own makes a subclass that gives the fields anew.
    """

    switches: ClassVar[Switches] = {"choices": (1, 2), "blur": (0.0,), "variations": ((), ("denoise",)), "space": ("standard-frame",)}

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    noise_multiplier: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="Deviation of the noise of every count in a round, in votes; empty calibrates it.",
    )
    rounds: int = Field(default=4, ge=0, le=1_000, description="How often all records vote; 0 leaves the selection out.")
    candidates: int = Field(default=600, ge=1, le=1_000_000, description="Candidates of each class; a constant, never from private counts.")
    choices: int = Field(default=1, ge=1, description="How many nearest candidates a record votes for; its votes together have norm 1.")
    threshold: float = Field(default=2.0, ge=0, le=1e6, description="Noisy counts below so many of their deviations count as no votes.")
    dataset: str = Field(default="glyphs", description="Public images that the first candidates are.")
    records: int = Field(default=20_000, ge=1, description="Public images to take them from.")
    space: Literal["pixels", "standard-frame", "classifier"] = Field(
        default="pixels",
        description="What the nearest candidate is found by: blurred pixels, these after images were brought to a standard place, slant "
        "and size, or features of a classifier of public images.",
    )
    blur: float = Field(default=1.0, ge=0, le=64, description="Deviation, in pixels, of the blur of pixels; 0 for none.")
    classifier: ClassifierTraining = ClassifierTraining()
    denoiser: DenoiserTraining = DenoiserTraining()
    variations: tuple[Variation, ...] = Field(
        default=(), description="How candidates are varied, in this order, denoise last; none takes what suits the number of channels."
    )
    variation_size: float = Field(default=1.0, ge=0, le=1e6, description="Size of the variations after the first round.")
    decay: float = Field(default=0.75, ge=1e-4, le=1, description="What that size is multiplied by from round to round.")

    @model_validator(mode="after")
    def _as_many_as_choices(self) -> Self:
        if self.choices > self.candidates:
            raise ValueError(f"Expected choices of at most the {self.candidates} candidates, got {self.choices}")
        return self

    @property
    def takes_place(self) -> bool:
        """Whether anything is selected."""
        return self.rounds > 0

    @property
    def needs_public_labels(self) -> bool:
        """Whether a classifier is trained on the public images, of whose features the space is."""
        return self.takes_place and self.space == "classifier"

    def known_noise_multiplier(self) -> float:
        """The noise multiplier; refused while there is none."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier of the votes, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def chosen_variations(self, facts: DatasetFacts) -> tuple[Variation, ...]:
        """The variations, in order."""
        return self.variations or (DRAWN if facts.shape[0] == 1 else COLOURED)

    @property
    def released_models(self) -> tuple[str, ...]:
        """The part of the state that varies what is drawn, if a model does."""
        return ("selection_denoiser",) if self.denoises else ()

    @property
    def denoises(self) -> bool:
        """Whether a diffusion model of public images varies candidates (Lin et al. 2024: partial noising and denoising)."""
        return "denoise" in self.variations

    def size_after(self, round_: int) -> float:
        """Size of the variations between round `round_`, from 1, and the next."""
        return self.variation_size * self.decay ** (round_ - 1)

    def counts(self, facts: DatasetFacts) -> tuple[int, int]:
        """(classes, candidates): the shape of a round's votes; records without labels are of one class."""
        return max(facts.num_classes, 1), self.candidates

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The classifier and the denoiser of public images (free, where they are used), the candidates (free) and the votes, in turn."""
        from workbench.privacy.accounting.stages import Stage

        if not self.takes_place:
            return []
        trained = [self.classifier.free_stage(CLASSIFIER)] if self.space == "classifier" else []
        if self.denoises:
            trained.append(self.denoiser.free_stage(DENOISER))
        return [*trained, Stage(CANDIDATES, None, "free", self.rounds), self.round_stage(facts)]

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """All classes' histograms of a round are one release: a record votes in one class."""
        from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
        from workbench.privacy.accounting.stages import Stage

        return Stage(
            name=VOTES,
            event=ReplaceOneGaussianDpEvent(self.known_noise_multiplier() / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
            spent="per_step",
            steps=self.rounds,
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records in every round",
            reason="In a round every record's votes for candidates of its class have norm 1 and none is negative, so making it null moves "
            "the counts by 1, and replacing it, label and all, by at most sqrt(2).",
        )


class Draws(BaseModel):
    """How images are drawn from the last round's candidates: post-processing of its votes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    variation_size: float = Field(
        default=0.6, ge=0, le=1e6, description="Size of the variations of what is drawn; 0 draws candidates as they are."
    )
    power: float = Field(default=1.0, ge=0, le=1e3, description="Candidates are drawn in proportion to their noisy votes to this power.")
    sharpening: float = Field(
        default=0.0,
        ge=0,
        le=1e3,
        description="How much of what a small blur takes away is added to what is drawn: every warp blurs. 0 adds none.",
    )


class SelectiveTraining(OrdinaryTraining):
    """Steps on images that were selected: post-processing of the votes."""

    records: int = Field(default=20_000, ge=1, description="Images drawn from the selected ones to train on.")
    steps: int = Field(default=600, ge=1, description="Steps on selected images, which cost no more privacy.")
    batch_size: int = Field(default=128, ge=1, description="Selected images in a step.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate on selected images.")


class Votes(Selection):
    """The rounds of a method that can do without."""

    switches: ClassVar[Switches] = {**Selection.switches, "rounds": (0, 2)}

    rounds: int = Field(default=0, ge=0, le=1_000, description="How often all records vote for public images; 0: nothing is selected.")


class SelectedPretraining(SelectiveTraining):
    """What may follow public pre-training: private records vote for public images, and training goes on with those chosen."""

    selection: Votes = Votes()
    share: float = Field(
        default=0.25, ge=1e-4, le=0.9999, description="Part of the target's mu^2 (Gaussian differential privacy) that the votes take."
    )
    draws: Draws = Draws()

    @property
    def takes_place(self) -> bool:
        """Whether anything is selected."""
        return self.selection.takes_place

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The selection's own stages, and training on what was selected (free); none where nothing is."""
        return [*self.selection.stages(facts), self.free_stage(SELECTIVE)] if self.takes_place else []


def default_candidates(facts: DatasetFacts) -> int:
    """As many candidates a class as it has records; at least 40, at most 600."""
    return min(MOST_CANDIDATES, max(FEWEST_CANDIDATES, records_a_class(facts)))


def default_choices(facts: DatasetFacts) -> int:
    """Six candidates to vote for where records are few, else one."""
    return 6 if records_a_class(facts) < FEW_RECORDS else 1


def records_a_class(facts: DatasetFacts) -> int:
    """Records over classes: public, unlike the number of each class."""
    return facts.num_records // max(facts.num_classes, 1)


def default_blur(facts: DatasetFacts) -> float:
    """One pixel on images of 28x28, in proportion on others."""
    return round(min(facts.shape[1:]) / 28, 2)


def is_large_drawing(facts: DatasetFacts) -> bool:
    """Whether a record is a drawing whose strokes fill several pixels: of one channel, and at least 28 pixels high and wide."""
    return facts.shape[0] == 1 and min(facts.shape[1:]) >= 28


LARGE_DRAWINGS: dict[str, Any] = {  # warps that blur little, a little sharpness for what they do, and draws far apart: docs/record.md
    "selection.variations": ("crisp-warp", "stroke"),
    "draws.sharpening": 1.0,
    "draws.variation_size": 0.9,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """Values of a `Selection` and of `Draws`, by dotted name, that suit the dataset's size and shape."""
    selection = {"candidates": default_candidates(facts), "choices": default_choices(facts), "blur": default_blur(facts)}
    return {f"selection.{name}": value for name, value in selection.items()} | (LARGE_DRAWINGS if is_large_drawing(facts) else {})


def selected_values(facts: DatasetFacts) -> dict[str, Any]:
    """Values of a `SelectedPretraining` called `selected`, by dotted name: four rounds, and what suits the dataset."""
    return {"selected.selection.rounds": 4} | {f"selected.{name}": value for name, value in defaults(facts).items()}
