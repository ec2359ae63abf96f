"""Tab-PE: rows that private records vote for, round by round, each for the nearest; varied, and voted on again. No network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, Preset, Reading
from workbench.methods.grouped_columns import GroupedColumns, GroupedConfig
from workbench.models.grouping import RELEASED, squared_budget
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.marginals import marginals_stage, sizes_of
from workbench.training.switches import Switches


def _share_or_none(value: float) -> float:
    if 0 < value < 1e-4:
        raise ValueError("Expected 0, which releases no columns, or at least 1e-4")
    return value


class TabPEConfig(GroupedConfig):
    """Hyper-parameters of Tab-PE."""

    switches: ClassVar[Switches] = {"share_of_columns": (0.0, 0.1)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of each round's votes, over the one vote of a record; empty calibrates it."
    )
    share_of_columns: Annotated[float, AfterValidator(_share_or_none)] = Field(
        default=0.1, ge=0, le=0.9999, description="Part of the squared budget that counts of columns within each class have: samples are "
        "fitted to these. 0, as in the paper, releases none.",
    )  # fmt: skip
    rounds: int = Field(default=30, ge=1, le=1_000, description="How often all records vote.")
    records: int = Field(default=1_000, ge=1, le=100_000, description="Rows that a round leaves, as many of one class as of another.")
    drawn_rounds: int = Field(
        default=5,
        ge=0,
        description="So many rounds at first draw rows by their votes and vary each once; later ones keep the most voted for.",
    )
    variations: int = Field(default=3, ge=1, le=20, description="Variations of each row that a later round keeps, which stand beside it.")
    category_weight: float = Field(
        default=1 / 3, ge=1e-3, le=10, description="Length of a category's one among numbers between 0 and 1, to find the nearest row by."
    )
    first_rate: float = Field(default=0.5, ge=1e-3, le=1, description="How far the first variations go; see last_rate.")
    last_rate: float = Field(
        default=0.01, ge=1e-3, le=1, description="How far the last ones go: the chance that a category is redrawn, and the most "
        "that a number moves, as a part of all its ranges.",
    )  # fmt: skip
    rate_power: float = Field(
        default=0.2, ge=1e-2, le=10, description="Power of the part of the rounds that is done, by which the rate falls."
    )

    def known_noise_multiplier(self) -> float:
        """The noise multiplier, which must have been given or found."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def squared_budget(self) -> float:
        """One over the squared noise of all releases together, over how far one record made null moves them."""
        return self.rounds * self.known_noise_multiplier() ** -2 / (1.0 - self.share_of_columns)

    def noise_of_columns(self) -> float:
        """Noise of the counts of columns, over how far one record made null moves them; their share is not 0."""
        return 1.0 / math.sqrt(self.share_of_columns * self.squared_budget())

    def rate(self, round_: int) -> float:
        """How far variations go after so many rounds."""
        return self.first_rate - (self.first_rate - self.last_rate) * (round_ / self.rounds) ** self.rate_power


COLUMNS, CANDIDATES, VOTES = "columns within classes", "candidate rows", "votes for rows"


def cells_of_columns(facts: DatasetFacts) -> int:
    """How many counts there are of columns, the label's left out, within classes."""
    return sum(sizes_of(facts)[: -1 if facts.num_classes else None]) * max(1, facts.num_classes)


SOURCE = "Tran et al. 2026 (arXiv 2606.08259), the analytic Gaussian mechanism over all rounds"
READINGS = {
    "tab-pe": Reading(
        title="Tab-PE",
        preset="claim-1",
        formula="T histograms of sensitivity 1 with noise sigma are one Gaussian mechanism of noise sigma / sqrt(T)",
        notation={"rounds": "T", "noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """A Gaussian mechanism of sensitivity 1, which is what one record more or less moves all histograms together by, in noise of one."""
    value = gaussian_releases(noise_multiplier, 1, delta, SOURCE)
    return value.model_copy(update={"neighboring_relation": "ADD_OR_REMOVE_ONE"})


PRESETS = Method.presets | {
    "claim-1": Preset(
        "Twenty rounds of 150 rows, as the paper's code has them for small tables, at the noise whose claim is epsilon 1 at delta 1e-5.",
        lambda _facts: {"rounds": 20, "records": 150, "noise_multiplier": 16.684, "share_of_columns": 0.0},
        lambda _facts: 1e-5,
    ),
}


SMALL = 10_000  # records, below which the defaults are those for small tables


class TabPE(GroupedColumns):
    """Rows that private records voted for, round by round, and variations of them; they begin even, and are fitted to noisy columns."""

    name = "tab-pe"
    title = "Private Evolution on tables (Tab-PE)"
    source = "Tran et al. 2026 (arXiv 2606.08259)"
    Config = TabPEConfig
    implementation = "workbench.methods.tab_pe.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("rows", "votes", "class_votes", "of_columns", *RELEASED)
    shapes: ClassVar[tuple[str, ...] | None] = ("records", "variations")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: TabPEConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The paper's settings for Adult on large tables, those for breast cancer on small ones."""
        return {} if facts.num_records >= SMALL else {"rounds": 20, "records": max(150, facts.num_classes)}

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Counts of columns where they have a share; candidates (free) and votes, in turn."""
        if self.config.records < facts.num_classes:
            raise WorkbenchError(f"Expected a row at least for each of {facts.num_classes} classes, got records {self.config.records}.")
        most = self.config.records * (1 + self.config.variations)
        votes = marginals_stage(VOTES, self.config.known_noise_multiplier(), most)
        reason = "A record votes for one row: making it null moves one count by 1, replacing it at most two."
        return [
            *([marginals_stage(COLUMNS, self.config.noise_of_columns(), cells_of_columns(facts))] if self.config.share_of_columns else []),
            Stage(
                name=CANDIDATES,
                event=None,
                spent="free",
                steps=self.config.rounds + 1,
                reason="They are made of public facts and noisy votes.",
            ),
            replace(votes, spent="per_step", steps=self.config.rounds, reason=reason),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's composition of Gaussian mechanisms of sensitivity 1, the releases of columns among them."""
        squared = self.config.squared_budget() + squared_budget(self.grouping, facts)
        return claimed(noise_multiplier=squared**-0.5, delta=delta)
