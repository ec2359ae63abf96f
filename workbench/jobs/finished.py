"""Steps 4 and 5 for a finished run: samples, evaluation and neighbours, each made when first asked for and kept in its folder."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import DamagedFileError, WorkbenchError, choose
from workbench.files import write_text_atomically, written_atomically
from workbench.jobs.folder import RunFolder
from workbench.jobs.paid import raise_bound
from workbench.jobs.run import Run
from workbench.jobs.sample_files import opened, read_records, write_records
from workbench.jobs.store import RunStore
from workbench.locks import locked
from workbench.methods.base import Method, SampleRequest
from workbench.privacy.spending.ledger import Ledger
from workbench.records import Records
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.evaluation.neighbours import Neighbours
    from workbench.training.state import State

SAMPLE_CHUNK = 500
KEEP_SECONDS = 30.0
MOST_SAMPLES = 10_000  # default number of samples: as many as training records, at most this
DEFAULT_NEIGHBOURS = 5

ProgressFunction = Callable[[float], None]


def default_num_samples(run: Run) -> int:
    """As many samples as training records, at most 10 000."""
    return min(run.plan.num_records, MOST_SAMPLES)


def sample_run(workspace: Workspace, run_id: str, num_samples: int | None = None, progress: ProgressFunction | None = None) -> Records:
    """The first `num_samples` samples of a finished run, labels in turn; kept, so that a sample's index always means the same.

    `progress` gets 0..1. A sampler that touches private records charges the ledger first and raises the run's bound.
    """
    run = _finished(workspace, run_id)
    wanted = default_num_samples(run) if num_samples is None else num_samples
    if wanted < 1:
        raise WorkbenchError(f"Expected at least 1 sample, got {wanted}.")
    folder = RunFolder(workspace, run_id)
    with locked(folder.samples / "lock"):
        kept = kept_samples(workspace, run_id)
        if kept is None or len(kept) < wanted:
            for drawn in _draw(workspace, run, 0 if kept is None else len(kept), wanted, progress):
                kept = drawn if kept is None else kept.followed_by(drawn)
                write_records(kept, folder.samples / "samples.npz", sample_notes(RunStore(workspace).get(run_id)), run.plan.facts)
    assert kept is not None
    return kept.take(slice(0, wanted))


def kept_samples(workspace: Workspace, run_id: str) -> Records | None:
    """The samples made so far, or None."""
    path = RunFolder(workspace, run_id).samples / "samples.npz"
    return read_records(path) if path.exists() else None


def public_samples(workspace: Workspace, run_id: str, num_samples: int, progress: ProgressFunction | None = None) -> Records | None:
    """Samples of the model before it saw a private record (epsilon 0); None where the method has no such model."""
    run = _finished(workspace, run_id)
    if not run.plan.build().has_public_model:
        return None
    folder = RunFolder(workspace, run_id)
    path = folder.samples / "public.npz"
    with locked(folder.samples / "lock"):
        kept = read_records(path) if path.exists() else None
        if kept is None or len(kept) < num_samples:
            method, state = load_model(workspace, run)
            for drawn in _chunks(workspace, run_id, method, state, 0 if kept is None else len(kept), num_samples, "public", progress):
                kept = drawn if kept is None else kept.followed_by(drawn)
                write_records(
                    kept, path, {"run": run_id, "source": "public records only", "epsilon": 0.0, "releasable": True}, run.plan.facts
                )
    assert kept is not None
    return kept.take(slice(0, num_samples))


def evaluate_run(
    workspace: Workspace,
    run_id: str,
    num_samples: int | None = None,
    seed: int = 0,
    metrics: Sequence[str] | None = None,
    progress: ProgressFunction | None = None,
) -> dict[str, Any]:
    """Every metric (or those named) of a finished run, as plain JSON values: `run`, `num_samples`, `seed`, `metrics`, `results`.

    Kept in evaluation.json, and measured again only if the request differs; a complete evaluation answers for its parts and
    gives way to no part. Metrics against private records may not leave the room: each result says so in `releasable`.
    """
    from workbench import evaluation

    for name in metrics or ():
        choose(name, evaluation.METRICS, "metric")
    run = _finished(workspace, run_id)
    count = default_num_samples(run) if num_samples is None else num_samples
    request = {"run": run_id, "num_samples": count, "seed": seed, "metrics": None if metrics is None else list(metrics)}
    kept = kept_evaluation(workspace, run_id)
    if kept is not None and _covers(kept, request):
        return {**request, "results": [result for result in kept["results"] if metrics is None or result["name"] in metrics]}
    dataset = dataset_of(workspace, run)
    measured = _part(progress, 0.5, 1.0)
    results = evaluation.evaluate(
        sample_run(workspace, run_id, count, _part(progress, 0.0, 0.3)),
        dataset,
        public_samples=public_samples(workspace, run_id, count, _part(progress, 0.3, 0.5)),
        public=public_dataset(workspace, run),
        metrics=metrics,
        seed=seed,
        workspace=workspace,
        progress=None if measured is None else lambda _metric, share: measured(share),
    )
    results = [result.of_run(run.releasable) for result in results]
    text = dumps({**request, "results": results}, indent=2)
    if kept is None or metrics is None or kept["metrics"] is not None:
        write_text_atomically(RunFolder(workspace, run_id).evaluation, text)
    return json.loads(text)


def _covers(kept: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether a kept evaluation answers a request: of the same samples and seed, and complete or of the same metrics."""
    same = all(kept[name] == request[name] for name in ("num_samples", "seed"))
    return same and kept["metrics"] in (None, request["metrics"])


def kept_evaluation(workspace: Workspace, run_id: str) -> dict[str, Any] | None:
    """The evaluation made last, or None."""
    path = RunFolder(workspace, run_id).evaluation
    try:
        return json.loads(path.read_text()) if path.exists() else None
    except ValueError:
        raise DamagedFileError(f"Expected an evaluation in {path}, got a damaged file. Move it away: it is made anew.") from None


def neighbours_run(
    workspace: Workspace,
    run_id: str,
    features: str = "pixels",
    k: int = DEFAULT_NEIGHBOURS,
    num_samples: int | None = None,
    progress: ProgressFunction | None = None,
) -> "Neighbours":
    """The k nearest training records and the nearest held-out record of every sample; private, kept in the run's folder."""
    from workbench.evaluation import FEATURES, Neighbours, feature_space, find_neighbours

    choose(features, FEATURES, "feature space")
    run = _finished(workspace, run_id)
    dataset = dataset_of(workspace, run)
    samples = sample_run(workspace, run_id, num_samples, _part(progress, 0.0, 0.4))
    path = RunFolder(workspace, run_id).samples / f"neighbours-{features}-{k}-{len(samples)}.npz"
    if path.exists():
        with opened(path) as file:
            return Neighbours(str(file["features"]), *(file[name] for name in NEIGHBOUR_ARRAYS))
    space = feature_space(features, dataset, public_dataset(workspace, run), workspace=workspace)
    found = find_neighbours(samples, dataset, space, k, _part(progress, 0.4, 1.0))
    arrays = {name: getattr(found, name) for name in NEIGHBOUR_ARRAYS}
    with written_atomically(path, "wb") as file:
        np.savez(file, features=np.array(found.features), **arrays)
    return found


NEIGHBOUR_ARRAYS = ("indices", "distances", "held_out_indices", "held_out_distances")


def dataset_of(workspace: Workspace, run: Run) -> "Dataset":
    """The records that a run was trained on; refused where its folder or file holds others by now."""
    return same_records(workspace, run, run.plan.request.place.load(run.plan.facts, workspace))


def same_records(workspace: Workspace, run: Run, dataset: "Dataset") -> "Dataset":
    """`dataset`, if its records are those that `run` was planned for: measures and neighbours would speak of others."""
    if dataset.fingerprint(workspace.key) != run.fingerprint:
        raise WorkbenchError(f"The records of {run.dataset} are no longer those that run {run.id} was planned for. Start a new run.")
    return dataset


def public_dataset(workspace: Workspace, run: Run) -> "Dataset | None":
    """The public dataset that a run's measures and neighbours take their features from; None where there is none."""
    from workbench import training_data

    return training_data.public_dataset(run.plan, workspace)


def load_model(workspace: Workspace, run: Run) -> tuple[Method, "State"]:
    """The method of a finished run and a state with its trained weights; the sampling randomness is new, or the seed's."""
    from workbench import experiment
    from workbench.training.state import PerformanceSettings, load_saved

    plan = run.plan
    state = experiment.new_state(plan, PerformanceSettings.model_validate(run.performance), run.seed)
    folder = RunFolder(workspace, run.id)
    for path in (folder.model, folder.private):
        if path.exists():
            state.load_part(load_saved(path))
    return plan.build(), state


def sample_notes(run: Run) -> dict[str, Any]:
    """What goes with exported samples: where they come from, at what epsilon, and whether they may leave the room."""
    return {
        "run": run.id,
        "method": run.method,
        "dataset": run.dataset,
        "bound": run.bound,
        "claim": run.claim,
        "claim_only": run.claim_only,
        "releasable": run.releasable,
    }


def _draw(workspace: Workspace, run: Run, start: int, stop: int, progress: ProgressFunction | None) -> Iterator[Records]:
    """Samples `start` to `stop` of a run, in parts worth keeping; what the sampler spends itself is charged before it starts."""
    method, state = load_model(workspace, run)
    stages = [stage for stage in method.sampling_stages(state.facts, SampleRequest(stop - start)) if stage.spent != "free"]
    if not stages:
        yield from _chunks(workspace, run.id, method, state, start, stop, "model", progress)
        return
    ledger, entry = Ledger(workspace.ledger), f"{run.id}-samples-{start}"
    account = run.plan.facts.name
    ledger.open_run(entry, run.fingerprint, run.dataset, run.method, stages, run.delta, purpose="sampling", account=account)
    before = {spending.stage: spending.charged for spending in ledger.spent(entry)}
    for stage in stages:
        if before[stage.name]:  # a former attempt may have shown what it drew, with other randomness
            ledger.charge_again(entry, stage.name, stage.steps)
        else:
            ledger.charge(entry, stage.name, stage.steps)
    drawn = method.sample(state, _request(method, state, start, stop, "model"))
    ledger.close_run(entry)
    raise_bound(workspace, run, ledger)
    yield drawn


def _chunks(
    workspace: Workspace, run_id: str, method: Method, state: "State", start: int, stop: int, source: str, progress: ProgressFunction | None
) -> Iterator[Records]:
    """Samples `start` to `stop` in parts of half a minute or more, so that an interruption loses no more than that."""
    drawn, first, began = None, start, time.monotonic()
    for begin in range(start, stop, SAMPLE_CHUNK):
        end = min(stop, begin + SAMPLE_CHUNK)
        part = method.sample(state, _request(method, state, begin, end, source))
        drawn = part if drawn is None else drawn.followed_by(part)
        if progress is not None:
            progress((end - start) / (stop - start))
        seconds = time.monotonic() - began
        if end == stop or seconds >= KEEP_SECONDS:
            RunFolder(workspace, run_id).note_drawing(source, end - first, seconds)
            yield drawn
            drawn, first, began = None, end, time.monotonic()


def _request(method: Method, state: "State", start: int, stop: int, source: Any) -> SampleRequest:
    """Samples `start` to `stop` with the classes in turn, from a random stream of their own."""
    classes = state.facts.num_classes
    labels = np.arange(start, stop, dtype=np.int64) % classes if classes else None
    return SampleRequest(stop - start, labels, f"{source} samples from {start}", source)


def _finished(workspace: Workspace, run_id: str) -> Run:
    run = RunStore(workspace).get(run_id)
    if run.state != "done":
        raise WorkbenchError(f"Run {run_id} is {run.state}; samples are drawn from a finished run. Wait for it, or resume it.")
    return run


def _part(progress: ProgressFunction | None, low: float, high: float) -> ProgressFunction | None:
    """A progress function for one part of the work."""
    return None if progress is None else lambda share: progress(low + (high - low) * share)
