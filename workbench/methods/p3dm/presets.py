"""Presets of P3DM."""

from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset
from workbench.models.recovery import config as recovery


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """What DPGEN has; steered by the first attribute where there is one and no class."""
    unlabelled = not facts.classes and facts.attributes
    few = min(200, facts.num_records)
    return recovery.defaults(facts) | {"private.batch_size": few, **({"attribute": next(iter(facts.attributes))} if unlabelled else {})}


def published(facts: DatasetFacts) -> dict[str, Any]:
    """The published code's levels and steps for faces of 64x64, candidates by nearest neighbours as the paper has them.

    Where there is no smile the dataset's own attribute, or its classes, steers.
    """
    return {
        "responses.epsilon": 10.0,
        "responses.num_candidates": 64,
        "responses.candidates": "neighbours",
        "responses.conditional": False,
        **({"attribute": "smile"} if "smile" in facts.attributes else {}),
        "langevin.largest": 90.0,
        "langevin.smallest": 0.01,
        "langevin.levels": 500,
        "langevin.steps_per_level": 5,
        "langevin.step_share": 0.033,
    }


PRESETS = Method.presets | {
    "published": Preset("Epsilon 10, steered by the smile, with the published noise levels of 64x64 faces; no labels.", published)
}
