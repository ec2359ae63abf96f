"""PAC audits: the noise that samples would need for 1 nat of mutual information, by real re-draws of records and as papers measure it.

Everything here comes of private records without a bound: it stays in the room, and the ledger does not hold the trainings.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets.base import to_unit_range
from workbench.errors import DamagedFileError
from workbench.files import make_private_folder, write_text_atomically, written_atomically
from workbench.privacy.not_dp.pac import PacNoise, deterministic_noise, success_probability
from workbench.records import ImageKind
from workbench.runs.folder import RunFolder
from workbench.runs.pac_request import PacRequest
from workbench.runs.removal import plan_for_fewer, without_others
from workbench.runs.run import Run
from workbench.runs.sample_files import open_arrays
from workbench.runs.samples.sets import ProgressFunction
from workbench.runs.threads import few_threads, threads_of_measures
from workbench.runs.trained import dataset_of, trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

COVERS = (
    "It covers one sample of a model that was trained on one secret random half of the records, shown with this noise on it; another one "
    "costs as much again. It covers neither this run, which was trained on all of them, nor anything else that is shown of the model, and "
    "it says nothing of a single record. Private."
)
LIMIT, CERTAIN, ONE_MODEL = "re-drawn records, in the limit", "re-drawn records, 99 % confidence", "samples of one model (P3DM)"


class PacRow(BaseModel):
    """E||B|| for MI of 1 nat, pixels in [-1, 1]: its mean over the images, the smallest and the largest, and what it is conditional on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    mean_norm: float
    low: float
    high: float
    holds: bool
    labels: tuple[str, ...]


class PacAudit(BaseModel):
    """What was measured of a run's plan; `signal` is the mean norm of the images, which the noise would have to be added to.

    `guesses` are the best chance, at MI of 1, of whoever guesses right with chance .5, .1 and .01 before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    method: str
    dataset: str
    request: PacRequest
    half: int
    signal: float
    rows: tuple[PacRow, ...]
    guesses: dict[str, float]
    covers: str = COVERS
    releasable: bool = False


def pac_run(workspace: Workspace, run_id: str, request: PacRequest, progress: ProgressFunction | None = None) -> PacAudit:
    """Train the run's plan `draws` times on random halves, and determine the noise for each of `images` images; kept beside the run.

    Method, noise and sampler take their randomness from one seed, so that an image is a function of the half alone, as the
    deterministic form of PAC privacy asks (Xiao and Devadas 2023, Algorithm 1). A training that has ended is kept until all have.
    """
    if (kept := kept_pac(workspace, run_id, request)) is not None:
        return kept
    run = check_pac(workspace, run_id)
    path, ended = _file(workspace, run_id, request), _kept_images(workspace, run_id, request)
    make_private_folder(path.with_suffix(""))
    for draw, images in _side_by_side(workspace, run_id, request, ended):
        ended[draw] = images
        with written_atomically(path.with_suffix("") / f"{draw}.npz", "wb") as file:
            np.savez(file, images=images)
        if progress is not None:
            progress(len(ended) / request.draws)
    outputs = np.stack([ended[draw] for draw in range(request.draws)])
    audit = PacAudit(
        run=run.id,
        method=run.method,
        dataset=run.plan.facts.name,
        request=request,
        half=run.plan.facts.num_records // 2,
        signal=float(np.linalg.norm(outputs, axis=2).mean()),
        rows=tuple(pac_rows(outputs)),
        guesses={f"{prior:g}": success_probability(1.0, prior) for prior in (0.5, 0.1, 0.01)},
    )
    write_text_atomically(path, dumps(audit, indent=2))
    shutil.rmtree(path.with_suffix(""))
    return audit


def check_pac(workspace: Workspace, run_id: str) -> Run:
    """The finished run; refuses one whose records are no images."""
    run = trained_run(workspace, run_id)
    ImageKind.of(run.plan.facts.kind)
    return run


def kept_pac(workspace: Workspace, run_id: str, request: PacRequest) -> PacAudit | None:
    """What is kept of `pac_run`, or None."""
    path = _file(workspace, run_id, request)
    try:
        return PacAudit.model_validate_json(path.read_text()) if path.exists() else None
    except ValidationError:
        raise DamagedFileError(f"Expected a PAC audit in {path}, got a damaged file. Move it away: it is measured anew.") from None


def pac_rows(outputs: np.ndarray) -> Iterator[PacRow]:
    """From images float64 (draws, images, d) in [-1, 1]: by image over the draws, with c = 0 and with c; over the first draw's images."""
    noise = partial(deterministic_noise, radius=float(np.sqrt(outputs.shape[2])))
    images = range(outputs.shape[1])
    yield _row(LIMIT, [noise(outputs[:, image], c=0.0) for image in images])
    yield _row(CERTAIN, [noise(outputs[:, image], gamma=0.01) for image in images])
    yield _row(ONE_MODEL, [noise(outputs[0], c=0.0, redrawn=False)])


def half_of(num_records: int, seed: int, draw: int) -> np.ndarray:
    """The positions of the half that training `draw` sees, in order."""
    return np.sort(np.random.default_rng([seed, draw]).permutation(num_records)[: num_records // 2])


def images_of(home: Path, data: Path, run_id: str, request: PacRequest, draw: int) -> tuple[int, np.ndarray]:
    """Training `draw` of the run's plan, and its images float64 (images, d) in [-1, 1]; on one thread."""
    import torch

    from workbench import experiment

    torch.set_num_threads(1)
    workspace = Workspace.open(home, data)
    run = trained_run(workspace, run_id)
    dataset = dataset_of(workspace, run)
    part = without_others(dataset, half_of(len(dataset.train), request.seed, draw))
    plan = plan_for_fewer(run.plan, part)
    state = experiment.new_state(plan, seed=request.seed)
    for _ in experiment.fit(plan, part, state, workspace):
        pass
    records = experiment.sample(plan, state, request.images).records
    return draw, to_unit_range(records).reshape(request.images, -1).astype(np.float64)


def _kept_images(workspace: Workspace, run_id: str, request: PacRequest) -> dict[int, np.ndarray]:
    """The images of the trainings that ended before an audit died, by training."""
    images: dict[int, np.ndarray] = {}
    for path in _file(workspace, run_id, request).with_suffix("").glob("[0-9]*.npz"):
        with open_arrays(path) as file:
            images[int(path.stem)] = file["images"]
    return images


def _side_by_side(
    workspace: Workspace, run_id: str, request: PacRequest, without: Collection[int] = ()
) -> Iterator[tuple[int, np.ndarray]]:
    """The trainings as they end, as many at once as measures take threads; those that have not begun are left out if this is stopped.

    `without` are trainings that are not made.
    """
    draws = [draw for draw in range(request.draws) if draw not in without]
    train = partial(images_of, workspace.home, workspace.data, run_id, request)
    if threads_of_measures() == 1:
        with few_threads():
            yield from map(train, draws)
        return
    pool = ProcessPoolExecutor(threads_of_measures(), mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        for done in as_completed([pool.submit(train, draw) for draw in draws]):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def end_with_parent() -> None:
    """End this process once the one that began it is gone, killed without a word say: it would wait for work for ever."""
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()


def _row(name: str, noises: list[PacNoise]) -> PacRow:
    norms = [noise.mean_norm for noise in noises]
    labels = tuple(dict.fromkeys(label for noise in noises for label in noise.labels))
    holds = all(noise.holds for noise in noises)
    return PacRow(name=name, mean_norm=float(np.mean(norms)), low=min(norms), high=max(norms), holds=holds, labels=labels)


def _file(workspace: Workspace, run_id: str, request: PacRequest) -> Path:
    return RunFolder(workspace, run_id).path / f"pac-{request.draws}-{request.images}-{request.seed}.json"
