"""What non-private training releases: everything."""

from workbench.datasets.base import DatasetFacts
from workbench.methods.nonprivate.config import NonPrivateConfig
from workbench.models.settings import check_model
from workbench.privacy.accounting.stages import Stage

TRAINING = "training"


def stages(config: NonPrivateConfig, facts: DatasetFacts) -> list[Stage]:
    """One stage whose every step shows the gradient of private records."""
    check_model(config, facts)
    return [config.training.unprotected_stage(TRAINING, facts.num_records)]
