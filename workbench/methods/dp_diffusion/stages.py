"""What DP-Diffusion releases, in order."""

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_diffusion.config import DPDiffusionConfig
from workbench.models.settings import check_model, pretraining_stages
from workbench.privacy.accounting.stages import Stage

FINE_TUNING = "fine-tuning"
REASON = (
    "A record's gradient is averaged over its K draws before it is clipped, so K costs nothing. "
    "The noisy sum is divided by the expected batch size, a constant."
)


def stages(config: DPDiffusionConfig, facts: DatasetFacts) -> list[Stage]:
    """Pre-training (free), then DP-SGD at all time steps."""
    check_model(config, facts)
    config.timestep_mixture.probabilities(config.diffusion.timesteps)
    return [*pretraining_stages(config, facts), config.fine_tuning.stage(FINE_TUNING, facts.num_records, REASON)]
