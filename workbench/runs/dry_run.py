"""A dry run: a plan carried out on drawn records of the same number, shape and classes, so that what it leaves to learn is seen beforehand.

No record of the dataset is touched and nothing is spent. Settings may be compared by dry runs as often as one likes.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from workbench.evaluation.results import MetricResult
from workbench.files import make_private_folder, write_text_atomically
from workbench.plan import Plan
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.training.state import PerformanceSettings

FORMAT = 1  # raised when a dry run would come to something else
MEASURES = {  # of records with classes, and without
    "image": (("accuracy_logistic_regression",), ("frechet_distance",)),
    "table": (("accuracy_logistic_regression", "accuracy_gradient_boosting", "two_way_marginals"), ("two_way_marginals",)),
}
SHARE_OF_TRAINING = 0.9


class DryRun(BaseModel):
    """What a dry run came to: its measures beside real drawn records and public data alone, and the seconds that it took."""

    model_config = ConfigDict(frozen=True)

    results: tuple[MetricResult, ...]
    seconds: float
    caution: str


def place_of(workspace: Workspace, plan: Plan, seed: int = 0) -> Path:
    """The file of what a dry run of `plan` came to: one for all datasets of the same public facts, whatever they are called."""
    facts = plan.facts.model_copy(update={"name": "stand-in", "is_public": True})
    what = dumps([FORMAT, plan.method, plan.config, facts, plan.delta, seed])
    return file_of(workspace, hashlib.sha256(what.encode()).hexdigest()[:32])


def file_of(workspace: Workspace, name: str) -> Path:
    """The file of what the dry run called `name` came to."""
    return workspace.cache / "dry-runs" / f"{name}.json"


def ask(workspace: Workspace, plan: Plan, performance: "PerformanceSettings", seed: int = 0) -> str:
    """Leave what is to be carried out for `carry_out`; returns the dry run's name. Refuses a plan that could not be trained."""
    from workbench.plan import check_trainable

    check_trainable(plan)
    place = place_of(workspace, plan, seed)
    make_private_folder(place.parent)
    write_text_atomically(_asked_of(place), dumps({"plan": plan, "performance": performance, "seed": seed}))
    return place.stem


def _asked_of(place: Path) -> Path:
    return place.with_suffix(".asked.json")


def kept_dry_run(workspace: Workspace, plan: Plan, seed: int = 0) -> DryRun | None:
    """What the dry run of `plan` came to; None where there was none."""
    place = place_of(workspace, plan, seed)
    return DryRun.model_validate_json(place.read_text(encoding="utf-8")) if place.exists() else None


def carry_out(workspace: Workspace, name: str, report: Callable[[float], None]) -> None:
    """What the job does, unless it was done: train, draw samples and measure them. `report` is told the share that is done."""
    from workbench.training.state import PerformanceSettings

    place = file_of(workspace, name)
    if place.exists():
        return
    request = json.loads(_asked_of(place).read_text(encoding="utf-8"))
    performance = PerformanceSettings.model_validate(request["performance"])
    write_text_atomically(place, dumps(dry_run(workspace, Plan.model_validate(request["plan"]), performance, request["seed"], report)))


def dry_run(
    workspace: Workspace,
    plan: Plan,
    performance: "PerformanceSettings | None" = None,
    seed: int = 0,
    report: Callable[[float], None] = lambda _share: None,
) -> DryRun:
    """Train `plan` on records that stand in for its dataset's, and measure what it draws; everything goes by `seed`, nothing is spent."""
    from workbench import experiment
    from workbench.datasets.stand_in import stand_in

    began = time.monotonic()
    dataset = stand_in(plan.facts, seed)
    state = experiment.new_state(plan, performance, seed=seed)
    for number, _ in enumerate(experiment.fit(plan, dataset, state, workspace), start=1):
        report(SHARE_OF_TRAINING * min(1.0, number / max(plan.steps, 1)))
    classified, unclassified = MEASURES[plan.facts.kind.name]
    options: dict[str, Any] = {"metrics": classified if plan.facts.num_classes > 1 else unclassified, "seed": seed, "workspace": workspace}
    results = experiment.evaluate(plan, state, dataset, **options)
    report(1.0)
    return DryRun(results=tuple(results), seconds=time.monotonic() - began, caution=caution_of(plan))


def caution_of(plan: Plan) -> str:
    """What a reader has to bear in mind: records that were drawn are no forecast for others."""
    public = plan.build().public_dataset
    own = "Drawn records are easier than some and harder than others: compare plans by dry runs, and a dry run with its own ceiling."
    return own if public is None else f"{own} The plan's public images ({public}) are not like them; where yours are, expect more."
