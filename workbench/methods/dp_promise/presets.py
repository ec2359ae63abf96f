"""Presets of dp-promise: what suits a dataset's size, and the settings behind the paper's tables."""

import math
from functools import partial
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset
from workbench.methods.dp_promise import published
from workbench.methods.pretrained import Pretrained
from workbench.models.settings import default_network

# Images of 28x28 and more: two hours on two cores (workbench/recipes/mnist.json).
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "phase_one.steps": 600,
    "phase_one.draws": 2,
    "phase_two.steps": 300,
    "phase_two.learning_rate": 6e-4,
    "phase_two.noise_multiplicity": 1,
    "ema_decay": 0.99,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
    values: dict[str, Any] = {"network": default_network(facts)}
    if facts.dimensions <= 300:
        sizes = {"phase_one.batch_size": 16, "phase_two.batch_size": 450}
    else:
        values, sizes = values | LARGE, {"phase_one.batch_size": 32, "phase_two.batch_size": 1000}
    return values | {name: min(size, facts.num_records) for name, size in sizes.items()}


def published_preset(epsilon: float) -> Preset:
    """The authors' settings for a claim of `epsilon`."""
    return Preset(
        f"The authors' settings for epsilon {epsilon:g} on the published dataset most like this one: the paper's targets, "
        "the sizes, noise and realised sampling rate of their code, the paper's delta.",
        partial(published.published, epsilon=epsilon),
        published.delta,
        published.note,
    )


PRESETS = Pretrained.presets | {
    "published": published_preset(10),
    "published-5": published_preset(5),
    "published-1": published_preset(1),
    "published-0.2": published_preset(0.2),
    "published-infinity": published_preset(math.inf),
    "published-renoised": Preset(
        "The authors' settings for epsilon 10, with the renoised targets, which have a proof.",
        published.renoised,
        published.delta,
        published.note,
    ),
    "published-one-shot": Preset(
        "The authors' settings for epsilon 10, phase one on one noised copy of every record, which has a proof.",
        published.one_shot,
        published.delta,
        published.note,
    ),
    "printed": Preset(
        "The settings at epsilon 10 as the paper prints them, sampling rate and steps too.",
        published.printed,
        published.delta,
        published.printed_note,
    ),
}
