"""What suits a dataset's size."""

from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.models.selection.config import defaults as selection_defaults
from workbench.models.settings import default_network
from workbench.networks import UNETS

LARGE: dict[str, Any] = {  # docs/record.md: why
    "start": 100,
    "pretraining.steps": 100,
    "pretraining.learning_rate": 2e-3,
    "selective.steps": 400,
    "selective.learning_rate": 2e-3,
    "refinement.steps": 600,
    "refinement.noise_multiplicity": 1,
    "sampler.name": "ddim",
    "sampler.num_inference_steps": 4,
    "sampler.spacing": "even",
    "sampler.eta": 1.0,
    "ema_decay": 0.95,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or in an hour (28x28)."""
    values: dict[str, Any] = {**selection_defaults(facts)}
    values["network"] = default_network(facts)
    if facts.dimensions > 300:
        values |= LARGE
        if facts.shape[0] == 1 and not (facts.shape[1] % 2 or facts.shape[2] % 2):
            values["network"] = UNETS["patches-28"].model_dump()
    return values | {"refinement.batch_size": min(1000 if facts.dimensions > 300 else 450, facts.num_records)}
