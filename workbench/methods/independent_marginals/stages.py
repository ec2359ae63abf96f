"""What independent marginals release: all counts of single columns, once."""

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.independent_marginals.config import IndependentMarginalsConfig
from workbench.privacy.accounting.stages import Stage
from workbench.training.marginals import marginals_stage, sizes_of

MARGINALS = "one-way marginals"


def stages(config: IndependentMarginalsConfig, facts: DatasetFacts) -> list[Stage]:
    """The one release."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return [marginals_stage(MARGINALS, config.noise_multiplier, sum(sizes_of(facts)))]
