"""What a private classifier releases: the noisy gradient of all records, once a step."""

import math

from workbench.errors import WorkbenchError
from workbench.methods.private_classifier.config import PrivateClassifierConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage

FEATURES, GRADIENTS, LABELLED = "public features", "gradients", "labelled public images"
REASON = (
    "In a step every record adds its gradient, clipped to norm C, at weights that follow from earlier noisy sums: making it null moves the "
    "sum by at most C, replacing it by at most 2 C, as two gradients may be opposite."
)


def stages(config: PrivateClassifierConfig) -> list[Stage]:
    """The features by public images (free), the steps, and public images labelled (free)."""
    event = ReplaceOneGaussianDpEvent(multiplier(config) / 2.0, zero_out_ratio=0.5)
    steps = Stage(
        name=GRADIENTS,
        event=event,
        spent="per_step",
        steps=config.steps,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records in every step",
        reason=REASON,
    )
    return [Stage(FEATURES, None, "free"), steps, Stage(LABELLED, None, "free")]


def multiplier(config: PrivateClassifierConfig) -> float:
    """Noise of a step over the clipping norm: all steps together are one Gaussian of the configured multiplier."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return config.noise_multiplier * math.sqrt(config.steps)
