"""Membership inference on a finished run: its training records against held-out ones, by a score of its model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from workbench.errors import DamagedFileError, WorkbenchError, choose
from workbench.files import write_text_atomically, written_atomically
from workbench.methods.protocols import Denoising
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.sample_files import open_arrays
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, load_state, trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.datasets import Dataset
    from workbench.evaluation.attacks import MembershipResult
    from workbench.evaluation.membership import Report
    from workbench.evaluation.nearest_samples import Side
    from workbench.records import Records

MOST_RECORDS = 1000  # of each side: a record takes some tens of passes
SHADOWS = 16
SCORES_SUFFIX = ".npz"  # of the scores of single records, beside the result


def check_attack(workspace: Workspace, run_id: str, score: str) -> Denoising:
    """The method of a finished run, which has to tell what its model predicts; refuses an unknown score and an audited run."""
    from workbench.evaluation.membership import SCORES

    choose(score, {**SCORES, **CALIBRATED}, "membership score")
    run = trained_run(workspace, run_id)
    if run.audit is not None:
        raise WorkbenchError(f"Expected a run without canaries, got {run.id}: some of its training records took no part. Audit it instead.")
    method = run.plan.build()
    if not isinstance(method, Denoising):
        raise WorkbenchError(f"Expected a method that tells what its model predicts, got {run.method}. An audit takes any.")
    return method


def membership_run(
    workspace: Workspace, run_id: str, score: str = "loss", seed: int = 0, report: "Report | None" = None, shadows: int = SHADOWS
) -> "MembershipResult":
    """How well `score` tells at most 1000 training records, drawn by `seed`, from held-out ones; private, kept beside the run.

    `lira` and `quantile` hold the loss against what is to be expected of each record: of `shadows` models that are trained for it, or of
    other non-members.
    """
    from workbench.evaluation.membership import ignore_progress

    check_attack(workspace, run_id, score)
    path = kept_file(workspace, run_id, f"{score}-{shadows}" if score == "lira" else score, seed)
    if path.exists():
        return _read(path)
    run, progress = trained_run(workspace, run_id), report or ignore_progress
    with few_threads():
        result = CALIBRATED.get(score, _plain)(_Attack(workspace, run, score, seed, shadows, progress, path.with_suffix(SCORES_SUFFIX)))
    write_text_atomically(path, dumps(result, indent=2))
    return result


@dataclass(frozen=True)
class _Attack:
    """What is attacked, and how."""

    workspace: Workspace
    run: Run
    score: str
    seed: int
    shadows: int
    report: "Report"
    scores_file: "Path"

    @cached_property
    def dataset(self) -> "Dataset":
        """The run's records."""
        return dataset_of(self.workspace, self.run)

    def scores(self, score: str, sides: "Sequence[Records]", within: tuple[float, float] = (0.0, 1.0)) -> list[np.ndarray]:
        """What the run's model gives the records of each side; `within` is this work's part of the whole."""
        from workbench.evaluation.membership import SCORES

        method, (low, high) = self.run.plan.build(), within
        assert isinstance(method, Denoising)  # as was checked
        denoiser = method.denoiser(load_state(self.workspace, self.run, seed=0))
        part = (high - low) / len(sides)

        def report_from(at: int) -> "Report":
            return lambda share: self.report(low + part * (at + share))

        return [SCORES[score](denoiser, side, self.seed, report_from(at)) for at, side in enumerate(sides)]

    def places(self) -> list[np.ndarray]:
        """Positions of at most MOST_RECORDS training records, and of as many held-out ones at most."""
        draw = np.random.default_rng(self.seed)
        return [draw.permutation(len(side))[:MOST_RECORDS] for side in (self.dataset.train, self.dataset.held_out)]

    def at(self, places: "Sequence[np.ndarray]") -> "list[Records]":
        """The training and the held-out records at these positions."""
        return [side.take(chosen) for side, chosen in zip((self.dataset.train, self.dataset.held_out), places, strict=True)]

    def keep(self, places: "Sequence[np.ndarray]", scores: "Sequence[np.ndarray]") -> None:
        """Write down what single records were given; members first."""
        arrays = dict(zip(SCORE_ARRAYS, (*places, *scores), strict=True))
        with written_atomically(self.scores_file, "wb") as file:
            np.savez(file, score=np.array(self.score), **arrays)


def _plain(attack: _Attack) -> "MembershipResult":
    """The score alone."""
    from workbench.evaluation.attacks import membership_result

    places = attack.places()
    members, nonmembers = attack.scores(attack.score, attack.at(places))
    attack.keep(places, (members, nonmembers))
    return membership_result(attack.score, members, nonmembers, attack.seed)


def _quantile(attack: _Attack) -> "MembershipResult":
    """The loss against the quantile that a regression foretells from a record's image and label."""
    from workbench.evaluation.calibrated import judged_by_quantiles

    sides = attack.at(attack.places())
    members, nonmembers = attack.scores("loss", sides)
    images = [_with_label(attack.dataset, side) for side in sides]
    return judged_by_quantiles((members, images[0]), (nonmembers, images[1]), attack.seed)


def _lira(attack: _Attack) -> "MembershipResult":
    """The loss against those of shadow models that the record took no part in."""
    from workbench.evaluation.attacks import membership_result
    from workbench.evaluation.calibrated import offline_ratio
    from workbench.evaluation.membership import SCORES
    from workbench.runs.shadows import judged_places, shadow_scores

    places = judged_places(attack.dataset, MOST_RECORDS, attack.seed)
    own = np.concatenate(attack.scores("loss", attack.at(places), (0.0, 0.05)))
    losses, took_part = shadow_scores(
        attack.workspace, attack.run, attack.dataset, places, SCORES["loss"], attack.shadows, attack.seed,
        lambda share: attack.report(0.05 + 0.95 * share),
    )  # fmt: skip
    members, nonmembers = np.split(offline_ratio(own, losses, took_part), 2)
    attack.keep(places, (members, nonmembers))
    return membership_result(f"lira, {attack.shadows} shadows", members, nonmembers, attack.seed)


CALIBRATED: "dict[str, Callable[[_Attack], MembershipResult]]" = {"quantile": _quantile, "lira": _lira}


def _with_label(dataset: "Dataset", records: "Records") -> np.ndarray:
    """Pixels, or a table's one-hot values, and the label; (N, D)."""
    values = dataset.facts.kind.features(records.records)
    return values if records.labels is None else np.concatenate([values, records.labels[:, None]], axis=1)


def kept_attacks(workspace: Workspace, run_id: str) -> "list[MembershipResult]":
    """What is kept of the attacks on a run, by score."""
    return [_read(path) for path in sorted(RunFolder(workspace, run_id).path.glob("membership-*.json"))]


@dataclass(frozen=True)
class RecordScores:
    """What an attack gave the records that it judged (small: member): positions int64 and scores float64 of both sides."""

    score: str
    training: np.ndarray  # (N,)
    held_out: np.ndarray  # (M,)
    training_scores: np.ndarray  # (N,)
    held_out_scores: np.ndarray  # (M,)

    def of(self, side: "Side", record: int) -> tuple[float, float] | None:
        """A record's score, and the share of (other) held-out records that look less like members; None where it was not judged."""
        from workbench.evaluation.neighbours import share_below

        own = side == "training"
        places, scores = (self.training, self.training_scores) if own else (self.held_out, self.held_out_scores)
        at = np.flatnonzero(places == record)
        if not len(at):
            return None
        others = self.held_out_scores if own else np.delete(scores, at)
        return float(scores[at[0]]), share_below(scores[at[0]], others)


SCORE_ARRAYS = ("training", "held_out", "training_scores", "held_out_scores")


def kept_scores(workspace: Workspace, run_id: str) -> list[RecordScores]:
    """What is kept of single records by attacks on a run; `quantile` keeps none, as it tells of halves of the records."""
    kept = []
    for path in sorted(RunFolder(workspace, run_id).path.glob(f"membership-*{SCORES_SUFFIX}")):
        with open_arrays(path) as file:
            kept.append(RecordScores(str(file["score"]), *(file[name] for name in SCORE_ARRAYS)))
    return kept


def kept_file(workspace: Workspace, run_id: str, score: str, seed: int) -> "Path":
    """Where an attack's result is kept."""
    return RunFolder(workspace, run_id).path / f"membership-{score}-{seed}.json"


def _read(path: "Path") -> "MembershipResult":
    from workbench.evaluation.attacks import MembershipResult

    try:
        return MembershipResult.model_validate_json(path.read_text())
    except ValidationError:
        raise DamagedFileError(f"Expected the result of an attack in {path}, got a damaged file. Move it away: it is made anew.") from None
