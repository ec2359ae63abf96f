"""Which public images suit the private ones: each record votes once for the public dataset that has the image nearest to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from workbench.datasets import DATASETS, absolute_name
from workbench.datasets.base import DatasetFacts
from workbench.datasets.joined import JOIN
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.models.selection.config import default_blur
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.switches import Switches

IMAGES, CHOICE = "public images", "votes for public images"  # the stages


class PublicChoiceConfig(MethodConfig):
    """Hyper-parameters of a choice of public images."""

    switches: ClassVar[Switches] = {"blur": (0.0,)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Deviation of the noise of every count, in votes; empty calibrates it."
    )
    candidates: tuple[str, ...] = Field(
        default=("glyphs", "processes"), description="Public images to choose among, names or folders, each at the records' size."
    )
    records: int = Field(default=1_000, ge=1, description="Public images of each candidate.")
    blur: float = Field(default=1.0, ge=0, le=64, description="Deviation, in pixels, of the blur of pixels that are compared; 0 for none.")

    @field_validator("candidates")
    @classmethod
    def _wherever_it_is_read(cls, candidates: tuple[str, ...]) -> tuple[str, ...]:
        """Paths are whole, as a run begins in another folder."""
        return tuple(map(absolute_name, candidates))

    @model_validator(mode="after")
    def _leaves_a_choice(self) -> Self:
        if len(set(self.names)) < max(2, len(self.candidates)):
            raise ValueError("Expected at least two candidates whose last names differ")
        if any(JOIN in name for name in self.candidates):
            raise ValueError(f"Expected candidates without a {JOIN} in their names, which joins them")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What the candidates are called: registered names, and the last names of folders."""
        return tuple(Path(name).name for name in self.candidates)


DRAWN = ("glyphs", "processes", "cartoons")


class PublicChoice(Method):
    """One noisy histogram: how many records have their nearest public image in each of several public datasets."""

    name = "public-choice"
    title = "Choice of public images"
    source = "the workbench's own: one round of votes (Lin et al. 2024) for datasets in the place of images"
    Config = PublicChoiceConfig
    implementation = "workbench.methods.public_choice.training"
    released: ClassVar[tuple[str, ...]] = ("public_images", "votes")
    shapes: ClassVar[tuple[str, ...] | None] = ("candidates", "records", "blur")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: PublicChoiceConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """All public datasets that can be drawn at the records' size, and a blur that suits it."""
        fitting = [
            name for name in DRAWN if DATASETS[name].sides[0] <= min(facts.shape[1:]) <= max(facts.shape[1:]) <= DATASETS[name].sides[1]
        ]
        return {"blur": default_blur(facts)} | ({"candidates": tuple(fitting)} if len(fitting) > 1 else {})

    @property
    def public_dataset(self) -> str:
        """The candidates, in turn."""
        return JOIN.join(self.config.candidates)

    @property
    def public_records(self) -> int:
        """Images of all candidates together."""
        return self.config.records * len(self.config.candidates)

    @property
    def selects_public(self) -> bool:
        """All that it draws are images of one candidate."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The candidates' images (free) and the votes."""
        if self.config.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier of the votes, got none: give one, or an epsilon to calibrate it to.")
        votes = Stage(
            name=CHOICE,
            event=ReplaceOneGaussianDpEvent(self.config.noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
            spent="once",
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records, once",
            reason="A record adds one to the count of one public dataset, whatever its label: making it null moves one count by 1, "
            "replacing it at most two.",
        )
        return [Stage(IMAGES, None, "free"), votes]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
