"""Presets of discrete diffusion on tables."""

from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """Batches of at most half the records by DP-SGD, and of no more than there are without it.

    The defaults by DP-SGD (the linear map alone, 100 large steps) and the preset's were chosen on a split of the training records
    of breast-cancer, 300 to train and 100 to choose by; the held-out records were not looked at.
    """
    batch = min(4096.0, max(1.0, facts.num_records / 2))
    return {"training.batch_size": batch, "unprotected.batch_size": min(128, facts.num_records)}


PRESETS = Method.presets | {
    "published": Preset(
        "As Wei et al. train: on the records themselves, with a value for each record and no bound; hidden layers beside the linear map.",
        lambda _facts: {"private": False, "network.hidden_width": 128, "ema_decay": 0.99},
    )
}
