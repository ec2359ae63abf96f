"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Workload
from workbench.methods.grouped_columns import GroupedColumns
from workbench.methods.independent_marginals import stages
from workbench.methods.independent_marginals.config import IndependentMarginalsConfig
from workbench.methods.independent_marginals.stages import MARGINALS
from workbench.models.grouping import COUNTS, EDGES, RELEASED
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class IndependentMarginals(GroupedColumns):
    """Noisy counts of every column's categories; rows whose columns are drawn apart from one another."""

    name = "independent-marginals"
    title = "Independent marginals (the floor of tables)"
    source = "the workbench's own: what columns give that know nothing of each other"
    Config = IndependentMarginalsConfig
    released: ClassVar[tuple[str, ...]] = ("one_way", *RELEASED)
    workload: ClassVar[Workload] = Workload(dict.fromkeys((EDGES, COUNTS, MARGINALS), ("num_records",)), ())
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: IndependentMarginalsConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The one release."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, as the floor that a method on tables should beat: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def model_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the counts."""
        from workbench.methods.independent_marginals import releases

        return releases.initial_state(facts, state)

    def fit_model(self, data: Records, state: State) -> Iterator[Step]:
        """Release the counts once."""
        from workbench.methods.independent_marginals import releases

        yield from releases.fit(self.config, data, state)

    def sample_model(self, state: State, request: SampleRequest) -> Records:
        """Rows of independent columns, with labels as asked for, else by their own released shares."""
        from workbench.methods.independent_marginals import sampling

        return sampling.sample(state, request)
