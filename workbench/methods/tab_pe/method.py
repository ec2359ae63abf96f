"""The method: what it needs to be planned; what votes and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Preset, Reading, Workload
from workbench.methods.grouped_columns import GroupedColumns
from workbench.methods.tab_pe import claim, stages
from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.presets import PRESETS
from workbench.methods.tab_pe.stages import COLUMNS, VOTES
from workbench.models.grouping import COUNTS, EDGES, RELEASED, squared_budget
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

SMALL = 10_000  # records, below which the defaults are those for small tables


class TabPE(GroupedColumns):
    """Rows that private records voted for, round by round, and variations of them; they begin even, and are fitted to noisy columns."""

    name = "tab-pe"
    title = "Private Evolution on tables (Tab-PE)"
    source = "Tab-PE 2026 (arXiv 2606.08259)"
    Config = TabPEConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("rows", "votes", "class_votes", "of_columns", *RELEASED)
    workload: ClassVar[Workload] = Workload(dict.fromkeys((EDGES, COUNTS, COLUMNS, VOTES), ("num_records",)), ("records", "variations"))
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: TabPEConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The paper's settings for Adult on large tables, those for breast cancer on small ones."""
        return {} if facts.num_records >= SMALL else {"rounds": 20, "records": max(150, facts.num_classes)}

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Counts of columns; candidates (free) and votes, in turn."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's composition of Gaussian mechanisms of sensitivity 1, the releases of columns among them."""
        squared = self.config.squared_budget() + squared_budget(self.grouping, facts)
        return claim.claimed(noise_multiplier=squared**-0.5, delta=delta)

    def model_state(self, facts: DatasetFacts, state: State) -> State:
        """Rows that are even over what is declared, and room for votes."""
        from workbench.methods.tab_pe import training

        return training.initial_state(self.config, facts, state)

    def fit_model(self, data: Records, state: State) -> Iterator[Step]:
        """Counts of columns, then all rounds."""
        from workbench.methods.tab_pe import training

        yield from training.fit(self.config, data, state)

    def sample_model(self, state: State, request: SampleRequest) -> Records:
        """Rows of the last round, varied as far as its variations go and fitted to the columns; classes as released unless asked for."""
        from workbench.methods.tab_pe import sampling

        return sampling.sample(self.config, state, request)
