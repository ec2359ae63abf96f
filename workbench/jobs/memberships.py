"""Membership inference on a finished run: its training records against held-out ones, by a score of its model."""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import ValidationError

from workbench.errors import DamagedFileError, WorkbenchError, choose
from workbench.files import write_text_atomically
from workbench.jobs.folder import RunFolder
from workbench.jobs.threads import few_threads
from workbench.jobs.trained import dataset_of, load_state, trained_run
from workbench.methods.protocols import Denoising
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.evaluation.attacks import MembershipResult
    from workbench.evaluation.membership import Report

MOST_RECORDS = 1000  # of each side: a record takes some tens of passes


def check_attack(workspace: Workspace, run_id: str, score: str) -> Denoising:
    """The method of a finished run, which has to tell what its model predicts; refuses an unknown score and an audited run."""
    from workbench.evaluation.membership import SCORES

    choose(score, SCORES, "membership score")
    run = trained_run(workspace, run_id)
    if run.audit is not None:
        raise WorkbenchError(f"Expected a run without canaries, got {run.id}: some of its training records took no part. Audit it instead.")
    method = run.plan.build()
    if not isinstance(method, Denoising):
        raise WorkbenchError(f"Expected a method that tells what its model predicts, got {run.method}. An audit takes any.")
    return method


def membership_run(
    workspace: Workspace, run_id: str, score: str = "loss", seed: int = 0, report: "Report | None" = None
) -> "MembershipResult":
    """How well `score` tells at most 1000 training records, drawn by `seed`, from as many held-out ones; private, kept beside the run."""
    from workbench.evaluation.attacks import judged
    from workbench.evaluation.membership import SCORES, ignored

    method, path = check_attack(workspace, run_id, score), kept_file(workspace, run_id, score, seed)
    if path.exists():
        return _read(path)
    run, told = trained_run(workspace, run_id), report or ignored
    dataset, draw = dataset_of(workspace, run), np.random.default_rng(seed)
    sides = [records.take(draw.permutation(len(records))[:MOST_RECORDS]) for records in (dataset.train, dataset.held_out)]
    with few_threads():
        denoiser = method.denoiser(load_state(workspace, run, seed=0))
        members = SCORES[score](denoiser, sides[0], seed, lambda share: told(share / 2))
        nonmembers = SCORES[score](denoiser, sides[1], seed, lambda share: told((1 + share) / 2))
    result = judged(score, members, nonmembers, seed)
    write_text_atomically(path, dumps(result, indent=2))
    return result


def kept_file(workspace: Workspace, run_id: str, score: str, seed: int) -> "Path":
    """Where an attack's result is kept."""
    return RunFolder(workspace, run_id).path / f"membership-{score}-{seed}.json"


def _read(path: "Path") -> "MembershipResult":
    from workbench.evaluation.attacks import MembershipResult

    try:
        return MembershipResult.model_validate_json(path.read_text())
    except ValidationError:
        raise DamagedFileError(f"Expected the result of an attack in {path}, got a damaged file. Move it away: it is made anew.") from None
