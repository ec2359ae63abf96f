"""Presets of DPGEN."""

from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset


def published(_facts: DatasetFacts) -> dict[str, Any]:
    """The published code's candidates, levels and steps for images of 28x28; P3DM prints epsilon 5, 10 and 15."""
    return {
        "responses.epsilon": 10.0,
        "responses.num_candidates": 64,
        "responses.candidates": "batch",
        "responses.conditional": False,
        "langevin.largest": 50.0,
        "langevin.smallest": 0.01,
        "langevin.levels": 232,
        "langevin.steps_per_level": 5,
        "langevin.step_share": 0.062,
    }


PRESETS = Method.presets | {
    "published": Preset("Epsilon 10 over random batches of 64, with the published noise levels of 28x28 images; no labels.", published)
}
