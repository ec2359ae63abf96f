"""Presets of DP-SGD DM: what suits a dataset's size, and dp-promise's published settings less its phase one."""

import math
from functools import partial
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset
from workbench.methods.dp_promise import published as dp_promise
from workbench.methods.pretrained import Pretrained
from workbench.models.settings import default_network

# Images of 28x28 and more: what dp-promise's defaults are there (workbench/methods/dp_promise/presets.py).
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "training.steps": 300,
    "training.learning_rate": 6e-4,
    "training.noise_multiplicity": 1,
    "ema_decay": 0.99,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
    large = facts.dimensions > 300
    size = {"training.batch_size": min(1000 if large else 450, facts.num_records)}
    return {"network": default_network(facts), **(LARGE if large else {}), **size}


def published(facts: DatasetFacts, epsilon: float) -> dict[str, Any]:
    """The authors' sizes and noise for `epsilon`: "architecture and parameters as close to dp-promise as possible" (section 6.1)."""
    theirs = {name: value for name, value in dp_promise.published(facts, epsilon).items() if name not in ("boundary", "targets")}
    return {name.replace("phase_two.", "training."): value for name, value in theirs.items() if not name.startswith("phase_one.")}


def published_preset(epsilon: float) -> Preset:
    """dp-promise's settings for a claim of `epsilon`."""
    return Preset(
        f"dp-promise's published settings for epsilon {epsilon:g}, its noise too, on the published dataset most like this one; "
        "what its phase one spends stays unspent.",
        partial(published, epsilon=epsilon),
        dp_promise.delta,
        dp_promise.note,
    )


PRESETS = Pretrained.presets | {
    "published": published_preset(10),
    "published-5": published_preset(5),
    "published-1": published_preset(1),
    "published-0.2": published_preset(0.2),
    "published-infinity": published_preset(math.inf),
}
