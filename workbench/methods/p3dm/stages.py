"""What P3DM releases, in order, and what its sampler spends."""

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError, choose
from workbench.methods.p3dm.config import P3DMConfig
from workbench.models.recovery import config as recovery
from workbench.privacy.accounting.stages import Stage

CLASSIFIER, GUIDANCE, DETERMINATION = "classifier", "guidance", "noise determination"
GUIDED = "A classifier trained on private records without protection steers every sample. Nothing bounds what they reveal."


def stages(config: P3DMConfig, facts: DatasetFacts) -> list[Stage]:
    """The triples, the score network that learns from them, the classifier, and the noise determination, which is no bound."""
    config.network.check_patches(*facts.shape[1:])
    if config.attribute:
        choose(config.attribute, facts.attributes, f"attribute of {facts.name}")
    elif config.is_guided and not facts.classes:
        known = ", ".join(facts.attributes) or "none there is"
        raise WorkbenchError(f"Expected an attribute to steer by, as {facts.name} has no classes. Choose one of: {known}.")
    found = recovery.stages(config)
    if config.is_guided:
        found.append(classifier_stage(config, facts))
    return [*found, Stage(DETERMINATION, None, "free")] if config.pac_samples else found


def classifier_stage(config: P3DMConfig, facts: DatasetFacts) -> Stage:
    """The classifier's training: by DP-SGD, or bounded by nothing, as every sample shows it."""
    from workbench.privacy.accounting.events import UnprovedDpEvent

    if config.classifier == "dp-sgd":
        return config.private.stage(CLASSIFIER, facts.num_records)
    steps = config.unprotected.steps
    return Stage(CLASSIFIER, UnprovedDpEvent(GUIDED), "per_step", steps, sampling="uniform batches")


def sampling_stages(config: P3DMConfig) -> list[Stage]:
    """Each request asks the private classifier again; one that DP-SGD trained may be asked for nothing."""
    from workbench.privacy.accounting.events import UnprovedDpEvent

    if not config.is_guided or config.classifier == "dp-sgd":
        return []
    return [Stage(GUIDANCE, UnprovedDpEvent(GUIDED), "once", reason=GUIDED)]


def values(config: P3DMConfig, facts: DatasetFacts) -> tuple[str, ...]:
    """The names that the classifier tells apart: an attribute's values, else the classes."""
    return facts.attributes[config.attribute] if config.attribute else facts.classes or ("",)
