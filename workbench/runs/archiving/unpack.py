"""Reading an archive into another home: all of it is checked, then charged in the ledger, then put in its place."""

import hashlib
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import make_private_folder, open_private, sync_folder
from workbench.jobs.job import Job, Terms
from workbench.jobs.registry import insert, registry
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import entry_from
from workbench.runs.archiving.contents import LIST, SEAL, Archive, ArchivedRun, copy_file, member_of
from workbench.runs.folder import RunFolder
from workbench.runs.run import TRAIN, Run
from workbench.runs.store import LIFE, RunStore
from workbench.runs.verdicts import Verdicts
from workbench.workspace import Workspace

STAGING = ".restoring."  # how the name of the folder begins that files are unpacked into
MOST_LIST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class RestoredRun:
    """A run that was put into a home, and whether its records are known there: if not, nothing can be measured against them."""

    run: Run
    records_found: bool


def restore_runs(workspace: Workspace, path: Path) -> list[RestoredRun]:
    """Put the runs of an archive into a home, with their files, verdicts and entries in the ledger.

    What they spent is charged in this home's ledger before anything appears, at least as much as their plans say. Raises
    WorkbenchError, and changes nothing, for a run that is here already, a file whose checksum does not fit, and what is no archive.
    """
    with _open_archive(path) as tar:
        archive = _archive_list(tar, path)
        _check_absent(workspace, archive)
        make_private_folder(workspace.runs)
        staging = workspace.runs / f"{STAGING}{secrets.token_hex(8)}"
        try:
            _unpack(tar, archive, staging)
            return [_put_run(workspace, archived, bytes.fromhex(archive.key), staging / archived.run.id) for archived in archive.runs]
        finally:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    if not path.is_file():
        raise WorkbenchError(f"Expected a file that `workbench archive` wrote, got {path}.")
    try:
        with tarfile.open(path, mode="r:") as tar:
            yield tar
    except tarfile.TarError as error:
        raise WorkbenchError(f"Expected a file that `workbench archive` wrote in {path}, got one that cannot be read ({error}).") from None


def _archive_list(tar: tarfile.TarFile, path: Path) -> Archive:
    """The list of an archive, whose seal fits."""
    text, seal = (_small(tar, name, path) for name in (LIST, SEAL))
    if hashlib.sha256(text).hexdigest().encode() != seal:
        raise WorkbenchError(f"Expected the list of {path.name} as it was written, but its checksum does not fit: the file is damaged.")
    return Archive.parse(text)


def _small(tar: tarfile.TarFile, name: str, path: Path) -> bytes:
    member = tar.next()
    if member is None or member.name != name or not member.isreg() or member.size > MOST_LIST_BYTES:
        raise WorkbenchError(f"Expected a file that `workbench archive` wrote, got {path}, which has no {name} at its beginning.")
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _check_absent(workspace: Workspace, archive: Archive) -> None:
    known = {run.id for run in RunStore(workspace).list()}
    for archived in archive.runs:
        run = archived.run
        if run.id in known:
            raise WorkbenchError(f"Expected runs that this home has not, got {run.id}, which is here. Nothing was restored.")
        if RunFolder(workspace, run.id).path.exists():
            raise WorkbenchError(f"Expected no folder of run {run.id}, got one of no run in the registry. `workbench clean` removes it.")
        if run.state != "done":
            raise WorkbenchError(f"Expected finished runs, got {run.id}, which is {run.state}.")
        if not any(entry["run_id"] == run.id for entry in archived.ledger):
            raise WorkbenchError(f"Expected what run {run.id} has spent in the archive, got nothing. Nothing was restored.")


def _unpack(tar: tarfile.TarFile, archive: Archive, staging: Path) -> None:
    """Write the files to a folder of their own; every one that is listed, none that is not, each by its checksum."""
    wanted = {member_of(archived.run.id, file.path): (archived.run.id, file) for archived in archive.runs for file in archived.files}
    for archived in archive.runs:
        make_private_folder(staging / archived.run.id)
    while (member := tar.next()) is not None:
        run_id, file = wanted.pop(member.name, ("", None))
        source = tar.extractfile(member) if member.isreg() else None
        if file is None or source is None:
            raise WorkbenchError(f"Expected the files that the archive lists, got {member.name!r}. Nothing was restored.")
        target = staging / run_id / file.path
        make_private_folder(target.parent)
        with open_private(target, "wb") as written:
            if copy_file(source, written) != (file.size, file.sha256):
                raise WorkbenchError(f"Expected {member.name} as it was archived, but its checksum does not fit. Nothing was restored.")
            written.flush()
            os.fsync(written.fileno())
    if wanted:
        raise WorkbenchError(f"Expected {next(iter(wanted))} in the archive, which ends before it. Nothing was restored.")


def _put_run(workspace: Workspace, archived: ArchivedRun, key: bytes, files: Path) -> RestoredRun:
    """Charge a run, move its folder into its place, and register it; without the last of it there is no run, and no less is charged."""
    fingerprint = _known_records(workspace, archived, key)
    run = archived.run.model_copy(update={"fingerprint": fingerprint or archived.run.fingerprint, "launcher": "local"})
    _charge(workspace, archived, run)
    folder = RunFolder(workspace, run.id)
    os.rename(files, folder.path)
    folder.create()
    sync_folder(workspace.runs)
    database = registry(workspace)
    database.prepare()
    life = {name: value for name, value in run if name in LIFE}
    with database.transaction() as connection:
        insert(connection, "jobs", dict(Job(task=TRAIN, owner=run.id, request={}, terms=Terms.model_validate(archived.terms), **life)))
        insert(connection, "runs", {name: value for name, value in run if name == "id" or name not in LIFE})
    Verdicts(workspace.verdicts).take_over(archived.verdicts)
    return RestoredRun(run, bool(fingerprint))


def _known_records(workspace: Workspace, archived: ArchivedRun, key: bytes) -> str:
    """The fingerprint of the run's records by this home's key, noted in its ledger; empty where they are not found here."""
    try:
        dataset = archived.run.plan.request.place.load(archived.run.plan.facts, workspace)
    except (WorkbenchError, OSError):
        return ""
    if not archived.digest or dataset.fingerprint(key) != archived.digest:
        return ""
    fingerprint = dataset.fingerprint(workspace.key)
    Ledger(workspace.ledger).note_records(fingerprint, dataset.record_hashes(workspace.key))
    return fingerprint


def _charge(workspace: Workspace, archived: ArchivedRun, run: Run) -> None:
    """Have at least in this home's ledger what the other one had, and all that a finished run's plan spends."""
    ledger = Ledger(workspace.ledger)
    planned: Mapping[str, int] = {stage.name: stage.steps for stage in run.plan.stages if stage.spent != "free"}
    for entry in map(entry_from, archived.ledger):
        if entry.run_id != run.id and not entry.run_id.startswith(f"{run.id}-"):
            raise WorkbenchError(f"Expected what run {run.id} has spent, got an entry of {entry.run_id!r}.")
        stages = entry.stages
        if entry.run_id == run.id:
            stages = tuple(replace(stage, charged=max(stage.charged, planned.get(stage.stage, 0))) for stage in stages)
        ledger.take_over(replace(entry, fingerprint=run.fingerprint, stages=stages))
