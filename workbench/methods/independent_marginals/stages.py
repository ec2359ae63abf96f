"""What independent marginals release: all counts of single columns, once."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.independent_marginals.config import IndependentMarginalsConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.marginals import sizes_of
from workbench.training.one_shot import sampler_distance

MARGINALS = "one-way marginals"


def stages(config: IndependentMarginalsConfig, facts: DatasetFacts) -> list[Stage]:
    """The one release."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return [marginals_stage(MARGINALS, config.noise_multiplier, sum(sizes_of(facts)))]


def marginals_stage(name: str, noise_multiplier: float, cells: int) -> Stage:
    """A release of marginals with at most so many cells, its noise over the distance of a record made null."""
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
        spent="once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        sampler_distance=sampler_distance(cells),
        reason="A record adds one to a cell of each marginal: making it null moves one count of each by 1, replacing it at most two.",
    )
