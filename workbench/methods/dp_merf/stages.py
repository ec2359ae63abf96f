"""What DP-MERF releases."""

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_merf.config import DPMERFConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage

RELEASE, GENERATOR = "release", "generator"


def stages(config: DPMERFConfig, facts: DatasetFacts) -> list[Stage]:
    """The release, counts of labels if asked for, and the generator's training that is free."""
    assert config.noise_multiplier is not None
    event = ReplaceOneGaussianDpEvent(config.noise_multiplier, zero_out_ratio=0.5)
    release = Stage(
        name=RELEASE,
        event=event,
        spent="once",
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once",
        reason="Every record adds a vector of norm 1/num_records, so replacing one moves the mean by at most 2/num_records "
        "and making one null by at most 1/num_records.",
    )
    return [release, *config.labels.stages(facts), config.training.free_stage(GENERATOR)]
