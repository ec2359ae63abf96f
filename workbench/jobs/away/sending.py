"""What the home does for a job that runs elsewhere: it sends an attempt, hears how it goes, and has it stop before it counts for good."""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.files import erase, make_private_folder, sync_folder
from workbench.jobs.away.order import CANCEL, Order, end_order, row_of
from workbench.jobs.job import AT_WORK, Job
from workbench.jobs.launchers.base import AWAY
from workbench.jobs.registry import registry
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.training.checkpoint_files import CHECKPOINT, erase_all
from workbench.workspace import Workspace


def away_folder(workspace: Workspace, job: Job) -> Path:
    """Where the files of a job that runs elsewhere lie: in its folder, be it a link."""
    return job.folder(workspace) / AWAY


def send(workspace: Workspace, job: Job, is_apart: bool = True) -> None:
    """Write the order of a claimed attempt; what it charges is in the home's ledger from then on.

    Whoever worked there before is told to stop first: what it has drawn is counted, and nothing that is moved or read is changed after.
    An attempt on this machine (`is_apart` False) at a job that was elsewhere takes its turn, and keeps a journal, as those did.
    """
    folder = away_folder(workspace, job)
    end_order(folder)
    if is_apart:
        share_folder(folder.parent)
    make_private_folder(folder)
    sync_folder(folder.parent)
    (folder / CANCEL).unlink(missing_ok=True)
    with registry(workspace).connected() as connection:
        rows: dict[str, Any] = {"job": row_of(connection, "jobs", job.id)}
        rows["run"] = row_of(connection, "runs", job.id) if job.terms.trains else None
    if job.terms.trains:
        Ledger(workspace.ledger).send_away(job.id, folder)
    Order(attempt=job.attempt, **rows, data=str(workspace.data.absolute()), key=workspace.key.hex() if is_apart else "").write(folder)


def hear(workspace: Workspace, job: Job, of_job: dict[str, Any], of_run: dict[str, Any]) -> dict[str, Any]:
    """What is to be known of a job elsewhere before its news are recorded; returns the changes of its run's row.

    The ledger counts it, though it may have been put back. Where it is no longer at work, its processes are told to stop, and no key
    stays; where it is done, neither does its noise key, and its bound is at least what the ledger says now. Raises OSError
    where a job that is done cannot be brought to its end just now.
    """
    folder, state = away_folder(workspace, job), of_job.get("state", job.state)
    may_wait = () if state == "done" else (OSError, WorkbenchError)  # of a folder that cannot be reached
    with suppress(*may_wait):
        if job.terms.trains and not Ledger.knows_away(workspace.ledger, job.id):
            Ledger(workspace.ledger).send_away(job.id, folder)
    with suppress(*may_wait):
        if state not in AT_WORK:
            end_order(folder)
    if state != "done" or not job.terms.trains:
        return of_run
    ledger = Ledger(workspace.ledger)
    ledger.close_run(job.id)
    erase_all(folder.parent / CHECKPOINT)
    return _at_least(of_run, ledger, job.id)


def retire(workspace: Workspace, run_id: str) -> None:
    """Have a run that will spend no more counted for good, before its folder goes."""
    folder = workspace.runs / run_id / AWAY
    with suppress(OSError):
        end_order(folder)
    if workspace.ledger.exists():
        Ledger(workspace.ledger).close_run(run_id)


def ask_to_cancel(workspace: Workspace, job: Job) -> None:
    """Leave word for the worker of a job that it is to stop: a signal without it is an engine's, that wants its machine back."""
    (away_folder(workspace, job) / CANCEL).write_text(f"{job.attempt}\n")


def share_folder(folder: Path) -> None:
    """Have a folder lie in `WORKBENCH_SHARED`, where that is set, with a link in its place: the nodes reach it there.

    Nobody writes in it meanwhile. What a crash left undone is completed.
    """
    shared = os.environ.get("WORKBENCH_SHARED")
    if not shared or folder.is_symlink():
        return
    place = Path(shared).absolute() / folder.name
    try:
        make_private_folder(place.parent)
        if folder.exists():
            if place.exists():
                raise WorkbenchError(f"Expected no folder {place}, as that of the run is {folder}. Move one of them away.")
            _move(folder, place)
        if place.exists():
            folder.symlink_to(place)
    except OSError as error:
        raise WorkbenchError(f"Expected a shared folder that can be written in WORKBENCH_SHARED, got: {error}.") from error


def _move(folder: Path, place: Path) -> None:
    """Move a folder, whole or not at all; from one disk to another, what stays is overwritten: it has a noise key."""
    try:
        os.rename(folder, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copied = place.with_name(f".{place.name}.moving")
        erase(copied)
        shutil.copytree(folder, copied, copy_function=_copy)
        os.rename(copied, place)
        sync_folder(place.parent)
        erase(folder)


def _copy(source: str, target: str) -> None:
    """Copy a file; on the disk on return."""
    shutil.copy2(source, target)
    with open(target, "rb") as file:
        os.fsync(file.fileno())


def _at_least(of_run: dict[str, Any], ledger: Ledger, run_id: str) -> dict[str, Any]:
    """What a finished run says of its spending, and no less than the ledger does: a process left behind may have drawn beside it."""
    entry = ledger.entry(run_id)
    spent = ledger.epsilon_spent(run_id, entry.delta)
    changes = of_run | {"epsilon_spent": max(spent.epsilon, of_run.get("epsilon_spent", 0.0))}
    bound = PrivacyValue.model_validate(of_run["bound"]) if of_run.get("bound") else None
    if any(stage.charged_again for stage in entry.stages) and (bound is None or spent.epsilon > bound.epsilon):
        changes["bound"] = spent
    return changes
