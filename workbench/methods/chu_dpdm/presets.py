"""Presets of Chu et al.'s DPDM: what a laptop trains, and the paper's setting in each of its readings."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset
from workbench.models.settings import default_network

ITERATIONS, BATCH_SIZE, NOISE_MULTIPLIER = 100, 64, 174.0  # the noise claims epsilon 9.995 after 100 epochs of MNIST
PAPER = "The paper's batch, learning rate and process (section V.A), and noise that claims epsilon 9.995 after 100 epochs of MNIST"
Values = Callable[[DatasetFacts], dict[str, Any]]
# Large batches, because the noise is shared by all that is in one.
SMALL: dict[str, Any] = {"training.batch_size": 300, "training.noise_multiplicity": 2, "ema_decay": 0.95}  # 8x8, in two minutes
LARGE: dict[str, Any] = {"training.batch_size": 1000, "training.learning_rate": 6e-4}  # 28x28 and more


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size and sizes that a laptop trains, with no batch above the records."""
    values = LARGE if facts.dimensions > 300 else SMALL
    fitting = {"training.batch_size": min(values["training.batch_size"], facts.num_records)}
    return {"network": default_network(facts), **values, **fitting}


def published(facts: DatasetFacts, steps_an_iteration: int = 0, **training: str) -> dict[str, Any]:
    """100 epochs of batches of 64, or 100 iterations of `steps_an_iteration` steps each; `training` names the reading."""
    batch_size = min(BATCH_SIZE, facts.num_records)
    return {
        "training.noise_multiplier": NOISE_MULTIPLIER,
        "training.batch_size": batch_size,
        "training.steps": ITERATIONS * (steps_an_iteration or math.ceil(facts.num_records / batch_size)),
        "training.noise_multiplicity": 1,
        "training.learning_rate": 1e-3,
        "decay.kind": "logarithmic",
        "decay.rate": 0.002,
        "diffusion.schedule": "cosine",
        "diffusion.timesteps": 1000,
        "diffusion.prediction": "epsilon",
        "sampler.num_inference_steps": 1000,
        "ema_decay": 0.9999,
        **{f"training.{name}": value for name, value in training.items()},
    }


def preset(description: str, values: Values) -> Preset:
    """A preset at the paper's delta."""
    return Preset(description, values, lambda _facts: 1e-5)


PRESETS = Method.presets | {
    "published": preset(f"{PAPER}; clipped by record at a public threshold.", published),
    "published-steps": preset(
        f"{PAPER}, with '100 iterations' read as steps in place of epochs.", partial(published, steps_an_iteration=1)
    ),
    "printed-threshold": preset(
        f"{PAPER}; the private batch's threshold, as line 5 of Algorithm 1 has it: no bound.",
        partial(published, threshold="private"),
    ),
    "printed-clipping": preset(
        f"{PAPER}; the batch's gradient clipped, as line 6 of Algorithm 1 has it: a useless bound.", partial(published, clipping="batch")
    ),
    "printed": preset(
        f"{PAPER}; threshold and clipping as Algorithm 1 prints them: no bound.", partial(published, threshold="private", clipping="batch")
    ),
}
