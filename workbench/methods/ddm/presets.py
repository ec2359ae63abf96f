"""Presets of discrete diffusion on tables."""

from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """Batches of at most half the records by DP-SGD, and of no more than there are without it."""
    batch = min(4096.0, max(1.0, facts.num_records / 2))
    return {"training.batch_size": batch, "unprotected.batch_size": min(128, facts.num_records)}


PRESETS = Method.presets | {
    "published": Preset(
        "As Wei et al. train: on the records themselves, with a value for each record and no bound.", lambda _facts: {"private": False}
    )
}
