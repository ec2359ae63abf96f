"""What discrete diffusion on tables releases: noisy steps, or steps that nothing bounds."""

from workbench.datasets.base import DatasetFacts
from workbench.methods.ddm.config import DDMConfig
from workbench.privacy.accounting.stages import Stage

DP_SGD, TRAINING = "DP-SGD", "training"


def stages(config: DDMConfig, facts: DatasetFacts) -> list[Stage]:
    """The private steps, a Poisson-sampled Gaussian; or the ordinary ones, each of which shows the gradient of private records."""
    if config.private:
        return [config.training.stage(DP_SGD, facts.num_records)]
    return [config.unprotected.unprotected_stage(TRAINING, facts.num_records)]
