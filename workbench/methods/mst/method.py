"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Preset, Reading, Workload
from workbench.methods.grouped_columns import GroupedColumns
from workbench.methods.mst import claim, stages
from workbench.methods.mst.config import MSTConfig
from workbench.methods.mst.presets import PRESETS
from workbench.methods.mst.stages import CHOICE, ONE_WAY, TWO_WAY
from workbench.models.grouping import COUNTS, EDGES, RELEASED, squared_budget
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class MST(GroupedColumns):
    """Noisy marginals of columns and of a tree of pairs chosen by the exponential mechanism; rows drawn along the tree."""

    name = "mst"
    title = "MST"
    source = "McKenna, Miklau and Sheldon 2021"
    Config = MSTConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("one_way", "pairs", "two_way", *RELEASED)
    workload: ClassVar[Workload] = Workload(dict.fromkeys((EDGES, COUNTS, ONE_WAY, CHOICE, TWO_WAY), ("num_records",)), ())
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: MSTConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Single columns, the choice of pairs, and their marginals."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's conversion of Renyi divergences, of all releases, those of columns too."""
        squared = self.config.known_noise_multiplier() ** -2 + squared_budget(self.grouping, facts)
        return claim.claimed(noise_multiplier=squared**-0.5, delta=delta)

    def model_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the releases."""
        from workbench.methods.mst import releases

        return releases.initial_state(facts, state)

    def fit_model(self, data: Records, state: State) -> Iterator[Step]:
        """Release single columns, choose the tree pair by pair, release its pairs."""
        from workbench.methods.mst import releases

        yield from releases.fit(self.config, data, state)

    def sample_model(self, state: State, request: SampleRequest) -> Records:
        """Rows by the distribution that fits all marginals, the label in its shares there where no class is asked for."""
        from workbench.methods.mst import sampling

        return sampling.sample(self.config, state, request)
