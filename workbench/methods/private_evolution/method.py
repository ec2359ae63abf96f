"""Private Evolution (Lin et al. 2024, 2025): private records vote for public images, which are varied and voted on again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.models.label_shares import LabelShares
from workbench.models.selection.config import RELEASED, Draws, Selection, defaults
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class Evolution(Selection):
    """The rounds; without one there is no method."""

    rounds: int = Field(default=4, ge=1, le=1_000, description="How often all records vote.")


class PrivateEvolutionConfig(MethodConfig):
    """Hyper-parameters of Private Evolution."""

    selection: Evolution = Evolution()
    draws: Draws = Draws()
    labels: LabelShares = LabelShares()


SOURCE = "Lin et al. 2024 (Private Evolution), adaptive composition of Gaussian mechanisms"
READINGS = {
    "private-evolution": Reading(
        title="Private Evolution",
        preset="claim-1",
        formula="T histograms of sensitivity 1 with noise sigma are one Gaussian mechanism of noise sigma / sqrt(T)",
        notation={"selection.rounds": "T", "selection.noise_multiplier": "sigma"},
    )
}


def claimed(*, noise_multiplier: float, rounds: int, delta: float) -> PrivacyValue:
    """T Gaussian mechanisms of sensitivity 1, which is what one record more or less moves a histogram by; exactly GDP."""
    value = gaussian_releases(noise_multiplier, rounds, delta, SOURCE)
    return value.model_copy(update={"neighboring_relation": "ADD_OR_REMOVE_ONE"})


PRESETS = Method.presets | {
    "claim-1": Preset(
        "Four rounds at the noise whose claim is epsilon 1 at the paper's delta for 55 000 images, 1/(n ln n); the rest suits the dataset.",
        lambda _facts: {"selection.rounds": 4, "selection.noise_multiplier": 8.23794},
        lambda _facts: 1.66575e-6,
    )
}


class PrivateEvolution(Method):
    """Public images that private records voted for, round by round, and variations of them; nothing is trained on a private record."""

    name = "private-evolution"
    title = "Private Evolution"
    source = "Lin et al. 2024, with a simulator as in Lin et al. 2025"
    Config = PrivateEvolutionConfig
    implementation = "workbench.methods.private_evolution.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = RELEASED
    sampling_fields: ClassVar[tuple[str, ...]] = ("draws", "labels")
    shapes: ClassVar[tuple[str, ...] | None] = ("selection.candidates", "selection.space", "selection.blur", "selection.variations")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("selection.noise_multiplier"),)
    config: PrivateEvolutionConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Fewer candidates where there are fewer records; a blur of votes and a sharpness of draws that suit the image size."""
        return {**defaults(facts)}

    @property
    def released_parts(self) -> tuple[str, ...]:
        """The model that varies what is drawn too, if there is one."""
        return (*self.released, *self.config.selection.released_models)

    @property
    def public_dataset(self) -> str | None:
        """The images that the first candidates are."""
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
        """The candidates before the first vote, drawn alike and varied as those at the end are."""
        return True

    @property
    def selects_public(self) -> bool:
        """All that it draws."""
        return True

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the totals of the last round's noisy votes, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Candidates (free) and votes, in turn."""
        return self.config.selection.stages(facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's composition of Gaussian mechanisms of sensitivity 1."""
        selection = self.config.selection
        return claimed(noise_multiplier=selection.known_noise_multiplier(), rounds=selection.rounds, delta=delta)
