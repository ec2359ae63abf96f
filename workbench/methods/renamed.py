"""Fields of configurations that are called otherwise since version 0.1, so that plans that it wrote open."""

from collections.abc import Mapping
from typing import Any

DP_MERF = {"steps": "training.steps", "batch_size": "training.batch_size", "learning_rate": "training.learning_rate"}
RENAMED: dict[str, dict[str, str]] = {  # method -> name in version 0.1: name of today
    "nonprivate": DP_MERF | {"schedule": "training.schedule"},
    "dp-merf": DP_MERF,
    "dp-promise": {
        "noise_multiplier": "phase_two.noise_multiplier",
        "noise_multiplicity": "phase_two.noise_multiplicity",
        "max_grad_norm": "phase_two.max_grad_norm",
        "phase_two_steps": "phase_two.steps",
        "phase_two_batch_size": "phase_two.batch_size",
        "phase_two_learning_rate": "phase_two.learning_rate",
        "phase_one_share": "phase_one.share",
        "phase_one_steps": "phase_one.steps",
        "phase_one_batch_size": "phase_one.batch_size",
        "phase_one_learning_rate": "phase_one.learning_rate",
        "phase_one_draws": "phase_one.draws",
        "public_dataset": "pretraining.dataset",
        "public_records": "pretraining.records",
        "pretraining_steps": "pretraining.steps",
        "pretraining_batch_size": "pretraining.batch_size",
        "pretraining_learning_rate": "pretraining.learning_rate",
        "pretraining_schedule": "pretraining.schedule",
    },
}


def renamed(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of fields, as version 0.1 named them, under today's names (dotted where they are nested by now)."""
    names = RENAMED.get(method, {})
    return {names.get(name, name): value for name, value in values.items()}


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted name as nested ones."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        first, _, rest = name.partition(".")
        if rest:
            found.setdefault(first, {})[rest] = value
        else:
            found[first] = value
    return found
