"""Wei et al.'s removal experiment: leave the most exposed records out, train anew, train classifiers on the samples; beside random ones.

Whom to leave out is read off private values, so nothing of it has a bound, whatever the trainings have; the ledger does not hold them.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from workbench import experiment
from workbench.datasets.base import Dataset
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.evaluation import MetricResult
from workbench.files import write_text_atomically
from workbench.methods.fields import dotted
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.runs.exposure import DEFAULT_DRAWS, expose_run
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples.sets import ProgressFunction, progress_within
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

OUTSIDE = (
    "Outside any bound: whom to leave out was read off private values. Neither these models nor their samples or numbers may leave the "
    "room, and the ledger does not count them."
)
KEPT = ("all records", "without the most exposed", "without as many at random")
CLASSIFIERS = ("accuracy_logistic_regression", "accuracy_random_forest")
NUM_SAMPLES = 1_500


def remove_run(
    workspace: Workspace,
    run_id: str,
    share: float = 0.05,
    seeds: int = 3,
    num_draws: int = DEFAULT_DRAWS,
    progress: ProgressFunction | None = None,
) -> dict[str, Any]:
    """Train the run's plan anew with and without the `share` of records that are most exposed, `seeds` times each, and measure.

    Keys: `share`, `seeds`, `num_draws`, `removed`, `releasable` (never), and `results`, a row a training: `kept` (of KEPT), `seed`
    and the accuracy of each classifier on held-out records. Private, kept in the run's folder, row by row: what a death leaves is
    gone on with.
    """
    run, path = trained_run(workspace, run_id), _file(workspace, run_id, share, seeds, num_draws)
    results: list[dict[str, Any]] = _read(path)["results"] if path.exists() else []
    if len(results) == len(KEPT) * seeds:
        return _read(path)
    check_share(run, share)
    exposure = expose_run(workspace, run_id, num_draws, progress=progress_within(progress, 0.0, 0.2))
    dataset, order = dataset_of(workspace, run), exposure.ranking()
    count = round(share * len(order))
    trained = progress_within(progress, 0.2, 1.0)
    values = {"share": share, "seeds": seeds, "num_draws": num_draws, "removed": count, "releasable": False, "results": results}
    for kept, seed, part in islice(dataset_parts(dataset, order, count, seeds), len(results), None):
        results.append({"kept": kept, "seed": seed, **accuracies(workspace, run.plan, part, seed)})
        write_text_atomically(path, dumps(values, indent=2))
        if trained is not None:
            trained(len(results) / (len(KEPT) * seeds))
    return _read(path)


def kept_removal(workspace: Workspace, run_id: str, share: float, seeds: int, num_draws: int) -> dict[str, Any] | None:
    """What is kept of `remove_run`, or None until all of it is there."""
    path = _file(workspace, run_id, share, seeds, num_draws)
    removal = _read(path) if path.exists() else None
    return removal if removal is not None and len(removal["results"]) == len(KEPT) * seeds else None


def dataset_parts(dataset: Dataset, order: np.ndarray, count: int, seeds: int) -> Iterator[tuple[str, int, Dataset]]:
    """The dataset whole, without the first `count` of `order`, and without as many at random, with each seed."""
    return ((kept, seed, part_of(dataset, order, kept, count, seed)) for seed in range(seeds) for kept in KEPT)


def part_of(dataset: Dataset, order: np.ndarray, kept: str, count: int, seed: int) -> Dataset:
    """The dataset without `count` records, or whole: as one of KEPT says."""
    orders = {
        KEPT[0]: lambda: order,
        KEPT[1]: lambda: order[count:],
        KEPT[2]: lambda: np.random.default_rng(seed).permutation(order.size)[count:],
    }
    return without_others(dataset, np.sort(orders[kept]()))


def without_others(dataset: Dataset, places: np.ndarray) -> Dataset:
    """The dataset with the training records at `places` alone."""
    facts = dataset.facts.model_copy(update={"num_records": len(places)})
    return Dataset(facts, dataset.train.take(places), dataset.held_out)


def measured_without(
    workspace: Workspace,
    run_id: str,
    kept: str,
    share: float,
    seed: int,
    *,
    metrics: Sequence[str],
    num_samples: int = NUM_SAMPLES,
    num_draws: int = DEFAULT_DRAWS,
) -> list[MetricResult]:
    """Train a finished run's plan anew, by `seed`, on what is left of its records, and measure the samples; kept nowhere."""
    run = trained_run(workspace, run_id)
    check_share(run, share)
    order = expose_run(workspace, run_id, num_draws).ranking()
    part = part_of(dataset_of(workspace, run), order, kept, round(share * len(order)), seed)
    return train_and_measure(workspace, run.plan, part, seed, metrics, num_samples)


def accuracies(workspace: Workspace, plan: Plan, dataset: Dataset, seed: int) -> dict[str, float]:
    """The accuracy of each classifier of samples of the plan trained on `dataset`."""
    return {result.name: result.value for result in train_and_measure(workspace, plan, dataset, seed, CLASSIFIERS, NUM_SAMPLES)}


def train_and_measure(
    workspace: Workspace, plan: Plan, dataset: Dataset, seed: int, metrics: Sequence[str], num_samples: int
) -> list[MetricResult]:
    """Train the plan's configuration on `dataset`, sample and measure."""
    again = plan_for_fewer(plan, dataset)
    with few_threads():
        state = experiment.new_state(again, seed=seed)
        for _ in experiment.fit(again, dataset, state, workspace):
            pass
        return experiment.evaluate(again, state, dataset, num_samples, seed, workspace, metrics=metrics)


def plan_for_fewer(plan: Plan, dataset: Dataset) -> Plan:
    """The plan's configuration, its noise too, for fewer records; a batch is no larger than they are."""
    values = dotted(plan.config)
    batches = {name: min(value, len(dataset.train)) for name, value in values.items() if name.endswith("batch_size")}
    return make_plan(plan.method, dataset.facts, delta=plan.delta, settings=values | batches)


def check_share(run: Run, share: float) -> None:
    """Refuse a share that leaves nobody out, or too few in."""
    if not 1 <= round(share * run.plan.facts.num_records) <= run.plan.facts.num_records / 2:
        raise WorkbenchError(f"Expected a share of one record to half of them, got {share:g} of {run.plan.facts.num_records}.")


def _file(workspace: Workspace, run_id: str, share: float, seeds: int, num_draws: int) -> Path:
    return RunFolder(workspace, run_id).path / f"removal-{share!r}-{seeds}-{num_draws}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
        return content | {"results": list(content["results"])}
    except (ValueError, KeyError, TypeError):
        raise DamagedFileError(f"Expected a removal experiment in {path}, got a damaged file. Move it away: it is made anew.") from None
