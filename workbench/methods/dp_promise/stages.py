"""What dp-promise releases, in order."""

from dp_accounting import dp_event

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.dp_promise import phase_one
from workbench.methods.dp_promise.claim import phase_one_distance
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.dp_promise.phase_one import PHASE_ONE, RELEASE
from workbench.models.settings import PRETRAINING, check_model, pretraining_stages
from workbench.privacy.accounting.stages import Stage

PHASE_TWO = "phase two"

__all__ = ["PHASE_ONE", "PHASE_TWO", "PRETRAINING", "RELEASE", "claimed_stages", "stages"]


def stages(config: DPPromiseConfig, facts: DatasetFacts) -> list[Stage]:
    """Pre-training (free, and the selection, if any), phase one (with one-shot targets a release, and free steps on it), phase two."""
    check_model(config, facts)
    if config.selected.takes_place and not config.conditional:
        raise WorkbenchError("Expected conditional training where images are selected: records vote by their labels. Use conditional=true.")
    if config.labels.are_released and not config.conditional:
        raise WorkbenchError("Expected conditional training where samples have labels by counts. Use conditional=true.")
    second = [phase_one.stage(config, facts)] if config.phase_one.steps else []
    if second and config.targets == "one-shot":
        second.append(config.phase_one.free_stage(PHASE_ONE))
    return [*pretraining_stages(config, facts), *second, config.phase_two.stage(PHASE_TWO, facts.num_records)]


def claimed_stages(config: DPPromiseConfig, facts: DatasetFacts) -> list[Stage]:
    """Both phases as Theorem 2 counts them: phase one is one release, whose noise is that of its images."""
    terms = phase_one.terms(config, facts)
    second = config.phase_two.stage(PHASE_TWO, facts.num_records, "As printed.")
    distance = phase_one_distance(terms["num_dimensions"], terms["alphas_cumprod"])
    if not config.phase_one.steps:
        return [second]
    step = dp_event.PoissonSampledDpEvent(terms["batch_size_1"] / facts.num_records, dp_event.GaussianDpEvent(1 / distance))
    whole = dp_event.SelfComposedDpEvent(step, config.phase_one.steps)
    return [Stage(PHASE_ONE, whole, "once", sampling="Poisson, as printed"), second]
