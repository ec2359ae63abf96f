"""AIM: marginals chosen round by round where the model is worst, and a graphical model of all of them. No network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator
from scipy.optimize import brentq

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, Preset, Reading
from workbench.methods.grouped_columns import GroupedColumns, GroupedConfig
from workbench.models.graphical.junction_tree import Columns, cells_of
from workbench.models.graphical.workloads import EXAMPLE, WeightedSets, named_sets, shared_weights
from workbench.models.grouping import RELEASED, squared_budget
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.exponential import choice_distance
from workbench.training.marginals import marginals_stage, sizes_of
from workbench.training.switches import Switches


class AIMConfig(GroupedConfig):
    """Hyper-parameters of AIM."""

    switches: ClassVar[Switches] = {"rounds": (0, 2), "sets": ("", "column 1+column 2: 3; column 1+column 2+column 3")}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over how far one record made null moves them; "
        "empty calibrates it.",
    )  # fmt: skip
    share_of_one_way: float = Field(default=0.1, ge=1e-4, le=0.9999, description="Part of the squared budget that single columns have.")
    share_of_choice: float = Field(
        default=0.1, ge=1e-4, le=0.9999, description="Part of the choices of marginals; the marginals have the rest."
    )
    rounds: int = Field(
        default=0, ge=0, le=1_000, description="Choices of a marginal, each followed by its release; 0 takes two for each column."
    )
    workload: Literal["pairs", "triples"] = Field(
        default="pairs", description="What is to come out right: all pairs of columns or all triples. These and their parts may be chosen."
    )
    target_weight: float = Field(
        default=2.0, ge=1, le=100, description="How many times as much a set of the workload counts that has the label, if there is one."
    )
    sets: str = Field(
        default="", max_length=10_000, description="In the place of workload and target_weight: what is to come out right by name, and how "
        f"much each set counts, as {EXAMPLE}.",
    )  # fmt: skip
    most_cells: int = Field(
        default=2**18, ge=1, le=2**26, description="Cells of the largest graphical model, in its junction tree. Earlier rounds may fill "
        "their part of it.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _shares_leave_some(self) -> Self:
        if self.share_of_marginals <= 0:
            raise ValueError("Expected share_of_one_way and share_of_choice below 1 together: the marginals have the rest")
        return self

    @property
    def share_of_marginals(self) -> float:
        """What the other two leave."""
        return 1.0 - self.share_of_one_way - self.share_of_choice

    def num_rounds(self, columns: int) -> int:
        """Rounds on a table of so many columns, the label one of them."""
        return self.rounds or 2 * columns

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


ONE_WAY, CHOICE, MARGINALS, ESTIMATE = "one-way marginals", "choice of marginals", "chosen marginals", "estimate"


def _choice(config: AIMConfig, rounds: int, number: int) -> Stage:
    return Stage(
        name=CHOICE,
        event=ExponentialMechanismDpEvent(2.0 * config.choice_epsilon(rounds), zero_out_ratio=0.5),
        spent="per_step",
        steps=rounds,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=rounds * choice_distance(number),
        reason="A marginal's score is the distance of its counts from what the model so far gives, summed over cells, less what noise "
        "would make of it, times a weight of at most 1: making a record null moves it by at most 1, replacing it by at most 2.",
    )


def workload(config: AIMConfig, facts: DatasetFacts) -> WeightedSets:
    """The sets of columns that are to come out right, each with its weight."""
    if config.sets:
        return named_sets(config.sets, facts)
    columns, label = len(sizes_of(facts)), len(sizes_of(facts)) - 1 if facts.num_classes else -1
    wanted = combinations(range(columns), min(columns, 2 if config.workload == "pairs" else 3))
    return [(one, config.target_weight if label in one else 1.0) for one in wanted]


def candidates(config: AIMConfig, facts: DatasetFacts) -> list[Columns]:
    """The workload's sets and their parts, but for those that no graphical model in the limit has; single columns are always there."""
    sizes, singles = sizes_of(facts), [(column,) for column in range(len(sizes_of(facts)))]
    parts = {part for one, _ in workload(config, facts) for width in range(2, len(one) + 1) for part in combinations(one, width)}
    return singles + sorted((one for one in parts if cells_of(sizes, one) <= config.most_cells), key=lambda one: (len(one), one))


def weights(config: AIMConfig, facts: DatasetFacts) -> list[float]:
    """Of each candidate, how much of the workload it has, over the most that any has."""
    return shared_weights(workload(config, facts), candidates(config, facts))


SOURCE = "McKenna, Mullins, Sheldon and Miklau 2022 (AIM), by zero-concentrated divergences"
READINGS = {
    "aim": Reading(
        title="AIM",
        preset="claim-1",
        formula="rho = 1/(2 sigma^2) of all releases together; epsilon the least with "
        "delta >= min over a of e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)",
        notation={"noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """The conversion of Canonne, Kamath and Steinke 2020, as the paper has it: solved for epsilon, the least over all orders a > 1."""
    rho = 1.0 / (2.0 * noise_multiplier**2)

    def epsilon(order: float) -> float:
        return order * rho + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)

    def slope(log_order: float) -> float:  # of epsilon, times (order - 1)^2
        order = 1.0 + math.exp(log_order)
        return rho * (order - 1.0) ** 2 + math.log(delta) + math.log(order)

    best = float(brentq(slope, -30.0, 30.0))  # pyright: ignore[reportArgumentType]
    least = max(0.0, epsilon(1.0 + math.exp(best)))
    return PrivacyValue(epsilon=least, delta=delta, status="proved", neighboring_relation="ADD_OR_REMOVE_ONE", source=SOURCE)


PRESETS = Method.presets | {
    "claim-1": Preset(
        "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the paper's formula.",
        lambda _facts: {"noise_multiplier": 4.0452},
        lambda _facts: 1e-5,
    ),
}


class AIM(GroupedColumns):
    """Noisy marginals chosen round by round where a graphical model of the earlier ones is worst; rows drawn from the model."""

    name = "aim"
    title = "AIM"
    source = "McKenna, Mullins, Sheldon and Miklau 2022"
    Config = AIMConfig
    implementation = "workbench.methods.aim.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("one_way", "chosen", "answers", "sets", "potentials", *RELEASED)
    shapes: ClassVar[tuple[str, ...] | None] = ("rounds", "workload", "most_cells")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: AIMConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The three releases, and the estimate after each of them but the choice."""
        sizes = sizes_of(facts)
        if len(sizes) < 2:
            raise WorkbenchError("Expected a table of at least two columns, the label one of them, got one. Take independent-marginals.")
        rounds, choices = self.config.num_rounds(len(sizes)), candidates(self.config, facts)
        marginals = marginals_stage(
            MARGINALS, self.config.noise_of(self.config.share_of_marginals / rounds), max(cells_of(sizes, one) for one in choices)
        )
        return [
            marginals_stage(ONE_WAY, self.config.noise_of(self.config.share_of_one_way), sum(sizes)),
            _choice(self.config, rounds, len(choices)),
            replace(marginals, spent="per_step", steps=rounds),
            Stage(name=ESTIMATE, event=None, spent="free", steps=rounds + 1, reason="It is made of what was released."),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's conversion of concentrated divergences, of all releases, those of columns too."""
        squared = self.config.known_noise_multiplier() ** -2 + squared_budget(self.grouping, facts)
        return claimed(noise_multiplier=squared**-0.5, delta=delta)
