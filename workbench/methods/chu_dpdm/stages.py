"""What Chu et al.'s training releases, in each of its readings."""

from dp_accounting import dp_event

from workbench.datasets.base import DatasetFacts
from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.models.settings import check_model
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.ordinary import check_batch_size

TRAINING = "training"
PRIVATE_THRESHOLD = (
    "Line 5 of the algorithm takes the clipping threshold from the private batch, so the scale of the noise depends on the records. "
    "Nothing bounds what that scale tells."
)
PER_RECORD = (
    "Clipping per record, as the paper's proof has it, with Poisson batches is a Poisson-sampled Gaussian. "
    "The threshold comes from a public batch and costs nothing."
)
BATCH = (
    "One record can turn the clipped mean of a batch by 2 C against noise C sigma/m, a multiplier of sigma/(2m). "
    "The bound is true and useless."
)


def stages(config: ChuDPDMConfig, facts: DatasetFacts) -> list[Stage]:
    """The noisy steps: a Poisson-sampled Gaussian, a Gaussian of little noise, or a release that nothing bounds."""
    check_model(config, facts)
    training = config.training
    steps, noise_multiplier = training.known_steps(), training.known_noise_multiplier(TRAINING)
    check_batch_size(TRAINING, training.batch_size, facts.num_records)
    if training.threshold == "private":
        event = UnprovedDpEvent(PRIVATE_THRESHOLD)
        return [Stage(TRAINING, event, "per_step", steps, sampling="no amplification", reason=PRIVATE_THRESHOLD)]
    if training.clipping == "batch":
        event = dp_event.GaussianDpEvent(noise_multiplier / (2 * round(training.batch_size)))
        return [Stage(TRAINING, event, "per_step", steps, sampling="no amplification", reason=BATCH)]
    return [training.stage(TRAINING, facts.num_records, PER_RECORD)]


def claimed_stages(config: ChuDPDMConfig) -> list[Stage]:
    """Gaussian steps on all records, as the paper's proof counts them."""
    training = config.training
    event = dp_event.GaussianDpEvent(training.known_noise_multiplier(TRAINING))
    return [Stage(TRAINING, event, "per_step", training.known_steps(), sampling="none claimed")]
