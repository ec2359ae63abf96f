"""What discrete diffusion on tables releases: noisy steps, or steps that nothing bounds."""

from dataclasses import replace

from workbench.datasets.base import DatasetFacts
from workbench.methods.ddm.config import DDMConfig
from workbench.privacy.accounting.stages import Stage

DP_SGD, TRAINING = "DP-SGD", "training"
PER_INSTANCE = (
    "Gradients of private records enter the weights without clipping or noise: what a sample shows of a record depends on the others, "
    "and no epsilon holds for all tables."
)


def stages(config: DDMConfig, facts: DatasetFacts) -> list[Stage]:
    """The private steps, a Poisson-sampled Gaussian; or the ordinary ones, each of which shows the gradient of private records."""
    if config.private:
        return [config.training.stage(DP_SGD, facts.num_records)]
    return [replace(config.unprotected.unprotected_stage(TRAINING, facts.num_records), reason=PER_INSTANCE)]
