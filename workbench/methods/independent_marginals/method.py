"""Independent marginals, the floor of tables: one Gaussian release of how often each category occurs. No network."""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField
from workbench.methods.grouped_columns import GroupedColumns, GroupedConfig
from workbench.models.grouping import RELEASED
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.marginals import marginals_stage, sizes_of


class IndependentMarginalsConfig(GroupedConfig):
    """Hyper-parameters of independent marginals."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the counts over how far one record made null moves them; empty calibrates it."
    )


MARGINALS = "one-way marginals"


class IndependentMarginals(GroupedColumns):
    """Noisy counts of every column's categories; rows whose columns are drawn apart from one another."""

    name = "independent-marginals"
    title = "Independent marginals (the floor of tables)"
    source = "the workbench's own: what columns give that know nothing of each other"
    Config = IndependentMarginalsConfig
    implementation = "workbench.methods.independent_marginals.training"
    released: ClassVar[tuple[str, ...]] = ("one_way", *RELEASED)
    shapes: ClassVar[tuple[str, ...] | None] = ()
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: IndependentMarginalsConfig

    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The one release."""
        if self.config.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return [marginals_stage(MARGINALS, self.config.noise_multiplier, sum(sizes_of(facts)))]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, as the floor that a method on tables should beat: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
