"""Hyper-parameters of independent marginals."""

from pydantic import Field

from workbench.methods.grouped_columns import GroupedConfig


class IndependentMarginalsConfig(GroupedConfig):
    """Hyper-parameters of independent marginals."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the counts over how far one record made null moves them; empty calibrates it."
    )
