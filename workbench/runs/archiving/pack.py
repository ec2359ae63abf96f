"""Writing an archive of finished runs."""

import io
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import written_atomically
from workbench.jobs.lifecycle import Jobs
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.archiving.contents import LIST, SEAL, Archive, ArchivedFile, ArchivedRun, is_left_out, member_of, sha256_of
from workbench.runs.folder import RunFolder
from workbench.runs.release.archive import digest
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.runs.trained import dataset_of
from workbench.runs.verdicts import Verdicts
from workbench.serialization import dumps, jsonable
from workbench.workspace import Workspace


def archive_runs(workspace: Workspace, run_ids: Sequence[str], path: Path) -> Archive:
    """Write finished runs with all that belongs to them to a tar at `path`; they stay, and what they spent stays in this home's ledger.

    Raises WorkbenchError for a run that is not done: what is left of such a one is its noise key, which goes nowhere.
    """
    key = secrets.token_bytes(32)
    runs = [_archived_run(workspace, _finished_run(workspace, run_id), key) for run_id in dict.fromkeys(run_ids)]
    listed = Archive(key=key.hex(), runs=runs)
    text = dumps(listed, indent=2).encode()
    with written_atomically(path, "wb", durable=True) as file, tarfile.open(fileobj=file, mode="w") as tar:
        _add(tar, LIST, text)
        _add(tar, SEAL, digest(text).encode())
        for archived in runs:
            folder = RunFolder(workspace, archived.run.id).path
            for one in archived.files:
                _add(tar, member_of(archived.run.id, one.path), folder / one.path)
    return listed


def _finished_run(workspace: Workspace, run_id: str) -> Run:
    run = RunStore(workspace).get(run_id)
    if run.state != "done":
        raise WorkbenchError(f"Expected finished runs, got {run_id}, which is {run.state}: until it is done it rests on its noise key.")
    return run


def _archived_run(workspace: Workspace, run: Run, key: bytes) -> ArchivedRun:
    ledger, folder = Ledger(workspace.ledger), RunFolder(workspace, run.id).path
    mine = [entry for entry in ledger.entries(run.fingerprint) if entry.run_id == run.id or entry.run_id.startswith(f"{run.id}-")]
    files = [ArchivedFile(path=name, size=(folder / name).stat().st_size, sha256=sha256_of(folder / name)) for name in _files(folder)]
    return ArchivedRun(
        run=run.model_copy(update={"process": None, "heartbeat": None}),
        terms=Jobs(workspace).get(run.id).terms.model_dump(),
        ledger=[jsonable(entry) for entry in mine],
        verdicts=Verdicts(workspace.verdicts).all_of(run.id),
        files=files,
        digest=_digest(workspace, run, key),
    )


def _files(folder: Path) -> Iterator[str]:
    """The files of a run by their paths in its folder, without those that hold a key and those that are being written."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".") and not is_left_out(name):
            yield name.as_posix()


def _digest(workspace: Workspace, run: Run, key: bytes) -> str:
    try:
        return dataset_of(workspace, run).fingerprint(key)
    except (WorkbenchError, OSError):  # its files are gone, or hold other records by now
        return ""


def _add(tar: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    if isinstance(content, bytes):
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
        return
    member.size = content.stat().st_size
    with content.open("rb") as file:
        tar.addfile(member, file)
