"""Shadow models of a finished run: its plan trained anew on halves of the records that are judged, for offline LiRA.

The attacker whom they stand for knows every training record but those that are judged. They see private records outside the run's
guarantee, and the ledger does not count them: only scores are kept of them, in the run's folder.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench import experiment
from workbench.datasets.base import Dataset
from workbench.errors import DamagedFileError
from workbench.evaluation.calibrated import shadow_halves
from workbench.files import make_private_folder, written_atomically
from workbench.methods.protocols import Denoising
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.training.state import PerformanceSettings
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.evaluation.membership import Report, Score
    from workbench.records import Records

TRAINING = 0.9  # of a shadow's share of the work


def judged_places(dataset: Dataset, most: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of as many training as held-out records, at most `most` of each, drawn by `seed`."""
    draw, count = np.random.default_rng(seed), min(most, len(dataset.train), len(dataset.held_out))
    train, held_out = (draw.permutation(len(side))[:count] for side in (dataset.train, dataset.held_out))
    return train, held_out


def shadow_scores(
    workspace: Workspace,
    run: Run,
    dataset: Dataset,
    places: tuple[np.ndarray, np.ndarray],
    score: "Score",
    shadows: int,
    seed: int,
    report: "Report",
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (shadows, N) that each shadow model gives the judged records, members first, and bool (shadows, N) who was trained on.

    Each shadow is trained on as many records as the run: half of the judged ones, and all other training records. Kept one by one, so
    that an interrupted search goes on.
    """
    judged = dataset.train.take(places[0]).followed_by(dataset.held_out.take(places[1]))
    others = dataset.train.take(np.setdiff1d(np.arange(len(dataset.train)), places[0]))
    halves = shadow_halves(len(judged), shadows, seed)
    scores = []
    for shadow, half in enumerate(halves):
        path = shadow_file(workspace, run.id, shadow, shadows, seed)
        if not path.exists():
            data = Dataset(dataset.facts, others.followed_by(judged.take(half)), dataset.held_out)
            progress = partial(_tell, report, shadow, shadows)
            _keep(path, _scores_of_one(workspace, run, data, judged, score, (seed, shadow), progress))
        scores.append(_read(path))
        report((shadow + 1) / shadows)
    return np.stack(scores), halves


def shadow_file(workspace: Workspace, run_id: str, shadow: int, shadows: int, seed: int) -> Path:
    """Where the scores of one shadow model are kept."""
    return RunFolder(workspace, run_id).path / f"shadows-{shadows}-{seed}" / f"{shadow}.npy"


def _scores_of_one(
    workspace: Workspace, run: Run, dataset: Dataset, judged: "Records", score: "Score", seed: Sequence[int], report: "Report"
) -> np.ndarray:
    """Train the run's plan on `dataset` and score the judged records."""
    method = run.plan.build()
    assert isinstance(method, Denoising)  # as the attack has checked
    drawn = int(np.random.default_rng([*seed, 3]).integers(2**31))
    state = experiment.new_state(run.plan, PerformanceSettings.model_validate(run.performance), drawn)
    total = max(1, sum(stage.steps for stage in run.plan.stages))
    for _ in experiment.fit(run.plan, dataset, state, workspace):
        report(TRAINING * min(1.0, sum(state.steps.values()) / total))
    return score(method.denoiser(state), judged, seed[0], lambda share: report(TRAINING + (1 - TRAINING) * share))


def _tell(report: "Report", shadow: int, shadows: int, share: float) -> None:
    report((shadow + share) / shadows)


def _read(path: Path) -> np.ndarray:
    try:
        return np.load(path)
    except (ValueError, EOFError):
        raise DamagedFileError(
            f"Expected the scores of a shadow model in {path}, got a damaged file. Move it away: it is made anew."
        ) from None


def _keep(path: Path, scores: np.ndarray) -> None:
    make_private_folder(path.parent)
    with written_atomically(path, "wb") as file:
        np.save(file, scores)
