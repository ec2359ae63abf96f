"""Step 5 for a set of samples: evaluation, neighbours, what they tell of copying; each made once and kept beside the samples."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import DamagedFileError, choose
from workbench.files import write_text_atomically, written_atomically
from workbench.runs.sample_files import open_arrays
from workbench.runs.samples import DEFAULT, sample_set
from workbench.runs.samples.sets import ProgressFunction, SampleSet, progress_within
from workbench.runs.threads import few_threads
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.evaluation.neighbours import Neighbours
    from workbench.evaluation.results import MetricResult

DEFAULT_NEIGHBOURS = 5
COPYING = ("privacy_score", "nearer_to_training")  # the measures that tell of copying


def evaluate_run(
    workspace: Workspace,
    run_id: str,
    num_samples: int | None = None,
    seed: int = 0,
    metrics: Sequence[str] | None = None,
    progress: ProgressFunction | None = None,
    samples: str = DEFAULT,
    attribute: str | None = None,
    features: str | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Every metric that needs not be named (or those named) of a set of a finished run's samples, or of an import, as plain JSON values.

    `attribute` takes the classes' place in privacy score and accuracies, `features` names where distances are taken, `device`
    where all is computed (the CPU by default). Keys: `run`, `samples`, `num_samples`, `seed`, `metrics`, `results`, and `attribute`,
    `features` and `device` where they are asked for. Kept in
    evaluation.json, and measured again only if the request differs; a complete evaluation answers for its parts and gives way to no
    part, which is then kept beside it. Metrics against private records may not leave the room: each result says so in `releasable`.
    """
    from workbench import evaluation

    for name in metrics or ():
        choose(name, evaluation.METRICS, "metric")
    chosen_set = sample_set(workspace, run_id, samples)
    count = chosen_set.default_num_samples if num_samples is None else num_samples
    request = {
        "run": run_id,
        "samples": chosen_set.id,
        "num_samples": count,
        "seed": seed,
        "metrics": None if metrics is None else list(metrics),
        **({"attribute": attribute} if attribute else {}),
        **({"features": features} if features else {}),
        **({"device": device} if device else {}),
    }
    beside = chosen_set.evaluation_beside(hashlib.sha256(dumps(request).encode()).hexdigest()[:8])
    last = _read_evaluation(chosen_set.evaluation)
    for kept in (last, _read_evaluation(beside)):
        if kept is not None and _covers(kept, request):
            return {**request, "results": [result for result in kept["results"] if metrics is None or result["name"] in metrics]}
    results = _measure_results(workspace, chosen_set, request, progress)
    text = dumps({**request, "results": results}, indent=2)
    gives_way = last is None or metrics is None or last["metrics"] is not None
    write_text_atomically(chosen_set.evaluation if gives_way else beside, text)
    return json.loads(text)


def _measure_results(
    workspace: Workspace, samples: SampleSet, request: dict[str, Any], progress: ProgressFunction | None
) -> "list[MetricResult]":
    """The results of an evaluation that is asked for by `request`."""
    from workbench import evaluation
    from workbench.evaluation.device import measuring_on

    count, dataset = request["num_samples"], samples.dataset()
    drawn = samples.records(count, progress_within(progress, 0.0, 0.3))
    public_samples = samples.public_records(count, progress_within(progress, 0.3, 0.5))
    measured = progress_within(progress, 0.5, 1.0)
    with few_threads(), measuring_on(request.get("device")):
        results = evaluation.evaluate(
            drawn,
            dataset,
            public_samples=public_samples,
            public=samples.public_dataset(),
            bits=samples.bits(),
            terms=samples.terms(),
            classes=samples.classes(),
            metrics=request["metrics"],
            features=request.get("features"),
            attribute=request.get("attribute"),
            seed=request["seed"],
            workspace=workspace,
            progress=None if measured is None else lambda _metric, share: measured(share),
        )
    return [result.of_run(samples.releasable) for result in results]


def kept_evaluation(workspace: Workspace, run_id: str, samples: str = DEFAULT) -> dict[str, Any] | None:
    """The evaluation of a set of samples made last, or None."""
    return _read_evaluation(sample_set(workspace, run_id, samples).evaluation)


def kept_results(workspace: Workspace, run_id: str, samples: str = DEFAULT) -> list[dict[str, Any]]:
    """The results of the evaluation made last, and those of other measures that are kept beside it, the newest of each."""
    chosen_set = sample_set(workspace, run_id, samples)
    last = _read_evaluation(chosen_set.evaluation)
    results = {} if last is None else {result["name"]: result for result in last["results"]}
    pattern = chosen_set.evaluation_beside("*")
    for path in sorted(pattern.parent.glob(pattern.name), key=lambda path: -path.stat().st_mtime):
        beside = read_results(path)
        if not beside.get("attribute"):
            results |= {result["name"]: result for result in beside["results"] if result["name"] not in results}
    return list(results.values())


def neighbours_run(
    workspace: Workspace,
    run_id: str,
    features: str = "pixels",
    k: int = DEFAULT_NEIGHBOURS,
    num_samples: int | None = None,
    progress: ProgressFunction | None = None,
    samples: str = DEFAULT,
) -> "Neighbours":
    """The k nearest training records and the nearest held-out record of every sample of a set; private, kept beside the samples."""
    from workbench.evaluation import feature_of, feature_space, find_neighbours

    feature_of(features)
    chosen_set = sample_set(workspace, run_id, samples)
    dataset = chosen_set.dataset()
    records = chosen_set.records(num_samples, progress_within(progress, 0.0, 0.4))
    path = chosen_set.neighbours(features, k, len(records))
    if path.exists():
        return _read_neighbours(path)
    with few_threads():
        space = feature_space(features, dataset, chosen_set.public_dataset(), workspace=workspace)
        near = find_neighbours(records, dataset, space, k, progress_within(progress, 0.4, 1.0))
    arrays = {name: getattr(near, name) for name in NEIGHBOUR_ARRAYS}
    with written_atomically(path, "wb") as file:
        np.savez(file, features=np.array(near.features), **arrays)
    return near


def kept_neighbours(workspace: Workspace, run_id: str, features: str, num_samples: int, samples: str = DEFAULT) -> "Neighbours | None":
    """The neighbours of so many samples of a set, as they were searched, or None."""
    path = sample_set(workspace, run_id, samples).neighbours(features, DEFAULT_NEIGHBOURS, num_samples)
    return _read_neighbours(path) if path.exists() else None


def copying_run(
    workspace: Workspace,
    run_id: str,
    features: str = "pixels",
    num_samples: int | None = None,
    progress: ProgressFunction | None = None,
    samples: str = DEFAULT,
    attribute: str | None = None,
) -> list[dict[str, Any]]:
    """The measures of copying of a set's samples in a feature space, as plain JSON values; private, kept beside the samples.

    `attribute` takes the classes' place in the privacy score.
    """
    from workbench import evaluation

    chosen_set = sample_set(workspace, run_id, samples)
    dataset, records = chosen_set.dataset(), chosen_set.records(num_samples, progress_within(progress, 0.0, 0.4))
    path = chosen_set.copying_file(features, len(records), attribute)
    if path.exists():
        return read_results(path)
    judged = dataset.facts.labelled_by(attribute) if attribute else dataset.facts
    names = [name for name in COPYING if evaluation.METRICS[name].refusal(judged, records) is None]
    measured = progress_within(progress, 0.4, 1.0)
    with few_threads():
        results = evaluation.evaluate(
            records,
            dataset,
            public=chosen_set.public_dataset(),
            metrics=names,
            features=features,
            attribute=attribute,
            workspace=workspace,
            progress=None if measured is None else lambda _metric, share: measured(share),
        )
    write_text_atomically(path, dumps(results, indent=2))
    return read_results(path)


def kept_copying(
    workspace: Workspace, run_id: str, features: str, num_samples: int, samples: str = DEFAULT, attribute: str | None = None
) -> list[dict[str, Any]] | None:
    """What is kept of `copying_run`, or None."""
    path = sample_set(workspace, run_id, samples).copying_file(features, num_samples, attribute)
    return read_results(path) if path.exists() else None


def _read_neighbours(path: Path) -> "Neighbours":
    from workbench.evaluation import Neighbours

    with open_arrays(path) as file:
        return Neighbours(str(file["features"]), *(file[name] for name in NEIGHBOUR_ARRAYS))


def read_results(path: Path) -> Any:
    """What is kept in a file of results; a damaged one is refused in words."""
    try:
        return json.loads(path.read_text())
    except ValueError:
        raise DamagedFileError(f"Expected results in {path}, got a damaged file. Move it away: it is made anew.") from None


NEIGHBOUR_ARRAYS = ("indices", "distances", "held_out_indices", "held_out_distances")


def _covers(kept: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether a kept evaluation answers a request: of the same samples, seed and metrics, or complete with all that are asked for.

    One that names no device is answered by that of any.
    """
    names = ("num_samples", "seed", "attribute", "features", *(("device",) if request.get("device") else ()))
    same = all(kept.get(name) == request.get(name) for name in names)
    if kept["metrics"] is None and request["metrics"] is not None:
        return same and {result["name"] for result in kept["results"]}.issuperset(request["metrics"])
    return same and kept["metrics"] == request["metrics"]


def _read_evaluation(path: Path) -> dict[str, Any] | None:
    return read_results(path) if path.exists() else None
