"""What selective pre-training releases, in order."""

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.selective_pretraining.config import SelectivePretrainingConfig
from workbench.models.selection.config import SELECTIVE
from workbench.models.settings import PRETRAINING, check_model
from workbench.privacy.accounting.stages import Stage

REFINEMENT = "refinement"


def stages(config: SelectivePretrainingConfig, facts: DatasetFacts) -> list[Stage]:
    """An autoencoder if any (free), public pre-training (free), the selection, training on what was selected (free), DP-SGD."""
    check_model(config, config.latents.learned(facts))
    check_start(config)
    first = [config.pretraining.free_stage(PRETRAINING)] if config.pretraining.steps else []
    selected = [*config.selection.stages(facts), config.selective.free_stage(SELECTIVE)]
    return [*config.latents.stages(), *first, *selected, config.refinement.stage(REFINEMENT, facts.num_records)]


def check_start(config: SelectivePretrainingConfig) -> None:
    """Refuse a start that is no time step, or that leaves the sampler fewer than it takes steps."""
    if config.start > config.diffusion.timesteps:
        raise WorkbenchError(f"Expected a start of at most the {config.diffusion.timesteps} time steps, got {config.start}.")
    if config.sampler.num_inference_steps > config.start:
        raise WorkbenchError(f"Expected sampler.num_inference_steps of at most the start, {config.start}.")
