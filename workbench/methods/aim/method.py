"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.aim import claim, stages
from workbench.methods.aim.config import AIMConfig
from workbench.methods.aim.presets import PRESETS
from workbench.methods.aim.stages import CHOICE, MARGINALS, ONE_WAY
from workbench.methods.base import CalibratedField, Preset, Reading, Workload
from workbench.methods.grouped_columns import GroupedColumns
from workbench.models.grouping import COUNTS, EDGES, RELEASED, squared_budget
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class AIM(GroupedColumns):
    """Noisy marginals chosen round by round where a graphical model of the earlier ones is worst; rows drawn from the model."""

    name = "aim"
    title = "AIM"
    source = "McKenna, Mullins, Sheldon and Miklau 2022"
    Config = AIMConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("one_way", "chosen", "answers", "sets", "potentials", *RELEASED)
    workload: ClassVar[Workload] = Workload(
        dict.fromkeys((EDGES, COUNTS, ONE_WAY, CHOICE, MARGINALS), ("num_records",)), ("rounds", "workload", "most_cells")
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: AIMConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Single columns, then choices and marginals in turn."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's conversion of concentrated divergences, of all releases, those of columns too."""
        squared = self.config.known_noise_multiplier() ** -2 + squared_budget(self.grouping, facts)
        return claim.claimed(noise_multiplier=squared**-0.5, delta=delta)

    def model_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the releases, and a model of even columns."""
        from workbench.methods.aim import releases

        return releases.initial_state(self.config, facts, state)

    def fit_model(self, data: Records, state: State) -> Iterator[Step]:
        """All rounds."""
        from workbench.methods.aim import releases

        yield from releases.fit(self.config, data, state)

    def sample_model(self, state: State, request: SampleRequest) -> Records:
        """Rows drawn from the graphical model, clique by clique from the label's on."""
        from workbench.methods.aim import sampling

        return sampling.sample(state, request)
