"""MST: noisy marginals of single columns and of the pairs that make a tree, which rows are drawn along. No network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, Preset, Reading
from workbench.methods.grouped_columns import GroupedColumns, GroupedConfig
from workbench.models.graphical.workloads import EXAMPLE, named_sets, pair_weights, scaled_weights
from workbench.models.grouping import RELEASED, squared_budget
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.exponential import choice_distance
from workbench.training.marginals import all_pairs, marginals_stage, sizes_of
from workbench.training.switches import Switches


class MSTConfig(GroupedConfig):
    """Hyper-parameters of MST."""

    switches: ClassVar[Switches] = {"sets": ("", "column 1+column 2: 3; column 1+column 2+column 3+class")}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over how far one record made null moves them; "
        "empty calibrates it.",
    )  # fmt: skip
    share_of_one_way: float = Field(default=1 / 3, ge=1e-4, le=0.9999, description="Part of the squared budget that single columns have.")
    share_of_choice: float = Field(
        default=1 / 3, ge=1e-4, le=0.9999, description="Part of the choice of pairs; their marginals have the rest."
    )

    target_weight: float = Field(
        default=1.0, ge=1, le=100, description="How many times as much a pair counts in the choice that has the label, if there is one."
    )
    sets: str = Field(
        default="", max_length=10_000, description="In the place of target_weight: sets of columns whose pairs are to be in the tree "
        f"first, and how much each counts, as {EXAMPLE}.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_two_way <= 0:
            raise ValueError("Expected share_of_one_way and share_of_choice below 1 together: the marginals of pairs have the rest")
        return self

    @property
    def share_of_two_way(self) -> float:
        """What the other two leave."""
        return 1.0 - self.share_of_one_way - self.share_of_choice

    def known_noise_multiplier(self) -> float:
        """The noise multiplier, which must have been given or found."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def noise_of(self, share: float) -> float:
        """Noise of a Gaussian release that has this share of the squared budget, over the distance of a record made null."""
        return self.known_noise_multiplier() / math.sqrt(share)

    def choice_epsilon(self, choices: int) -> float:
        """Pure epsilon of each of so many choices for a record made null: of range e it counts as a Gaussian release of mu e / 2."""
        return 2.0 * math.sqrt(self.share_of_choice / choices) / self.known_noise_multiplier()


ONE_WAY, CHOICE, TWO_WAY = "one-way marginals", "choice of pairs", "two-way marginals"
MOST_CELLS = 10_000_000  # of a marginal of two columns, which is kept whole


def num_edges(facts: DatasetFacts) -> int:
    """Pairs that make a tree of the columns."""
    return len(sizes_of(facts)) - 1


def largest_marginal(facts: DatasetFacts) -> int:
    """Cells of the largest marginal of two columns; refuses one that is too large to keep."""
    cells = math.prod(sorted(sizes_of(facts))[-2:])
    if cells > MOST_CELLS:
        raise WorkbenchError(
            f"Expected two columns to have at most {MOST_CELLS} pairs of categories, got {cells}. Merge rare categories, "
            "or take independent-marginals."
        )
    return cells


def weights(config: MSTConfig, facts: DatasetFacts) -> list[float]:
    """Of each pair, how much its score counts, at most 1, in multiples of 2^-8."""
    pairs = all_pairs(facts)
    if config.sets:
        return pair_weights(named_sets(config.sets, facts), pairs)
    label = num_edges(facts) if facts.num_classes else -1
    return scaled_weights([config.target_weight if label in pair else 1.0 for pair in pairs])


def _choice(config: MSTConfig, facts: DatasetFacts, edges: int) -> Stage:
    return Stage(
        name=CHOICE,
        event=ExponentialMechanismDpEvent(2.0 * config.choice_epsilon(edges), zero_out_ratio=0.5),
        spent="per_step",
        steps=edges,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=edges * choice_distance(len(all_pairs(facts))),
        reason="A pair's score is the distance of its counts from what the noisy single columns give, summed over cells, times a "
        "weight of at most 1: making a record null moves it by at most 1, replacing it by at most 2.",
    )


SOURCE = "McKenna, Miklau and Sheldon 2021 (MST), by Renyi divergences"
READINGS = {
    "mst": Reading(
        title="MST",
        preset="claim-1",
        formula="epsilon = rho + 2 sqrt(rho log(1/delta)), rho = 1/(2 sigma^2) of all releases together",
        notation={"noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """Order a costs a rho: the least of a rho + log(1/delta)/(a - 1) over all a, add/remove."""
    rho = 1.0 / (2.0 * noise_multiplier**2)
    epsilon = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    return PrivacyValue(epsilon=epsilon, delta=delta, status="proved", neighboring_relation="ADD_OR_REMOVE_ONE", source=SOURCE)


PRESETS = Method.presets | {
    "claim-1": Preset(
        "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the paper's formula.",
        lambda _facts: {"noise_multiplier": 4.9006},
        lambda _facts: 1e-5,
    )
}


class MST(GroupedColumns):
    """Noisy marginals of columns and of a tree of pairs chosen by the exponential mechanism; rows drawn along the tree."""

    name = "mst"
    title = "MST"
    source = "McKenna, Miklau and Sheldon 2021"
    Config = MSTConfig
    implementation = "workbench.methods.mst.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("one_way", "pairs", "two_way", *RELEASED)
    shapes: ClassVar[tuple[str, ...] | None] = ()
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: MSTConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The three releases."""
        edges = num_edges(facts)
        if not edges:
            raise WorkbenchError("Expected a table of at least two columns, the label one of them, got one. Take independent-marginals.")
        weights(self.config, facts)  # refuses columns that are not there
        return [
            marginals_stage(ONE_WAY, self.config.noise_of(self.config.share_of_one_way), sum(sizes_of(facts))),
            _choice(self.config, facts, edges),
            marginals_stage(TWO_WAY, self.config.noise_of(self.config.share_of_two_way), edges * largest_marginal(facts)),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's conversion of Renyi divergences, of all releases, those of columns too."""
        squared = self.config.known_noise_multiplier() ** -2 + squared_budget(self.grouping, facts)
        return claimed(noise_multiplier=squared**-0.5, delta=delta)
