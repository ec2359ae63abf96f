"""What DP-SAD releases, in order, and why the paper's modes have no bound that is worth anything."""

from dp_accounting import dp_event

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.fields import with_values
from workbench.models.settings import PRETRAINING, check_model, check_public_images
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import check_batch_size

TEACHER, STUDENT, DISCRIMINATOR = "teacher", "student", "discriminator"
SOUND = (
    "The discriminator sees generated images alone, so records enter through the student's gradients, clipped whole and per record, "
    "and through the teacher's, if it has any."
)
EQ15 = (
    "One record may change all B clipped terms through the teacher, so the mean moves by 2 C against noise sigma C/(B T). "
    "True and useless: with noise that hides that nothing is learnt."
)
EQ17 = (
    "The teacher and the discriminator are trained on all private records and enter every gradient, so clipping one term bounds little. "
    "The chain rule multiplies the clipped part by a factor that depends on the private record and has no bound."
)

LABELLED = {
    True: " A record's label is its nearest centroid's, which is public or released.",
    False: " Labels, by k-means on what was learned from private records, may change with one record as the teacher does.",
}


def reason_of(config: DPSADConfig, reason: str) -> str:
    """Why the student's stage is charged as it is, with what its labels add where they are not given."""
    return reason if config.labels.are_given else reason + LABELLED[config.is_sound]


def teacher_training(config: DPSADConfig) -> DPSGD:
    """The DP-SGD of a sound private teacher, with the student's noise multiplier where it has none of its own."""
    settings = config.private_teacher
    if settings.noise_multiplier is None:
        return with_values(settings, {"noise_multiplier": config.student.known_noise_multiplier(STUDENT)})
    return settings


def stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """Teacher, student, discriminator; which of them are paid for depends on the mode."""
    check_model(config, facts)
    return sound_stages(config, facts) if config.is_sound else paper_stages(config, facts)


def sound_stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """Labels, the teacher's public steps, a selection and its DP-SGD, if there are any, the student's and the discriminator's."""
    found = config.labels.stages(facts)
    if config.learns_in_public:
        found.append(config.pretraining.free_stage(PRETRAINING))
    if config.selected.takes_place:
        check_public_images(config.pretraining, config.selected.selection)
        found += config.selected.stages(facts)
    if config.has_private_teacher:
        found.append(teacher_training(config).stage(TEACHER, facts.num_records))
    found.append(config.student.stage(STUDENT, facts.num_records, reason_of(config, SOUND)))
    return [*found, config.discriminator.free_stage(DISCRIMINATOR)] if config.has_critic else found


def paper_stages(config: DPSADConfig, facts: DatasetFacts) -> list[Stage]:
    """Labels, the teacher's and the discriminator's steps on private records, which stay in the room, and the student's.

    Whatever the others do with a record, the student's step of eq. 15 shows at most 2 C B of it against noise of sigma C/T: that is
    charged, and nothing more leaves. Of eq. 17 nothing is known.
    """
    check_batch_size(STUDENT, config.student.batch_size, facts.num_records)
    check_batch_size(TEACHER, config.unprotected_teacher.batch_size, facts.num_records)
    sigma = config.student.known_noise_multiplier(STUDENT)
    gaussian = dp_event.GaussianDpEvent(sigma / (2 * fixed_batch(config) * config.diffusion.timesteps))
    reason = reason_of(config, EQ15 if config.mode == "eq15" else EQ17)
    event = gaussian if config.mode == "eq15" else UnprovedDpEvent(reason)
    found = [*config.labels.stages(facts), kept_stage(TEACHER, config.unprotected_teacher.steps)]
    found.append(Stage(STUDENT, event, "per_step", config.student.steps, sampling="batches of fixed size, no amplification", reason=reason))
    return [*found, kept_stage(DISCRIMINATOR, config.discriminator.steps)] if config.has_critic else found


def kept_stage(name: str, steps: int) -> Stage:
    """Steps on private records whose result enters the student's steps alone, where all of it is charged."""
    return Stage(name, dp_event.NoOpDpEvent(), "per_step", steps, reason="")


def fixed_batch(config: DPSADConfig) -> int:
    """B, the records in a step of the paper's student."""
    return max(1, round(config.student.batch_size))
