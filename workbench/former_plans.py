"""Plans as version 0.1 wrote them, in the registry of a home or in a kept record, as `Plan` has them now."""

from collections.abc import Mapping
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.privacy.accounting.planned_stage import PlannedStage


def is_former(values: Mapping[str, Any]) -> bool:
    """Whether these are a plan's values from before requests."""
    return "request" not in values


def upgraded(values: Mapping[str, Any], dataset: str = "") -> dict[str, Any]:
    """The values of today's `Plan`. `dataset` is the name or path that a run noted; without it the facts' own name counts.

    Such a plan had its event composed, so its stages are taken from the method as it was configured.
    """
    from workbench.methods import METHODS  # takes a second, which plans of today need not wait for
    from workbench.methods.renamed import nested, renamed

    kept = ("facts", "delta", "claim", "bound", "replace_one", "accountants", "warnings")
    facts, method_class = DatasetFacts.model_validate(values["facts"]), METHODS[values["method"]]
    method = method_class(method_class.Config.model_validate(nested(renamed(values["method"], values["config"]))))
    request = {
        "method": values["method"],
        "dataset": _dataset(dataset or facts.name, facts),
        "preset": values["preset"],
        "epsilon": values["target_epsilon"],
        "delta": None if values["delta"] == method_class.presets[values["preset"]].delta(facts) else values["delta"],
        "target": values["target"],
        "settings": renamed(values["method"], values.get("overrides", {})),
    }
    releases = [PlannedStage.of(stage) for stage in method.stages(facts)]
    return {name: values[name] for name in kept if name in values} | {
        "request": request,
        "config": method.config.model_dump(mode="json"),
        "releases": releases,
    }


def _dataset(place: str, facts: DatasetFacts) -> DatasetRef | DatasetFacts:
    """What was noted as one text: a registered name or a path; the facts themselves where it is neither."""
    from workbench.datasets import DATASETS

    return DatasetRef.planned(place, facts) if place in DATASETS or place.startswith("/") else facts
