"""What is in an archive: its list of files with their checksums, and of each run what the registry, the ledger and the verdicts say."""

import hashlib
import json
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.jobs.job import ID
from workbench.jobs.launchers.base import AWAY
from workbench.runs.run import Run
from workbench.runs.verdicts import Verdict

FORMAT = "dp-diffusion-workbench archive 1"
LIST, SEAL = "archive.json", "archive.sha256"  # the first two members
LEFT_OUT = ("checkpoint.pt", "worker.lock")  # how the names of files begin that no archive has: noise keys, and what a process holds
PRIVATE = (
    "This archive is private; do not share it. It holds metrics of private records, weights and samples whatever their bound, "
    "and what the runs have spent. No noise key is in it."
)
BLOCK = 2**20


class ArchivedFile(BaseModel):
    """A file of a run's folder: its path there, bytes, and SHA-256."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int = Field(ge=0)
    sha256: str


class ArchivedRun(BaseModel):
    """A run: its row, its terms, its entries in the ledger (training and sampling), its verdicts, its files.

    `digest` is the fingerprint of its records by the archive's own key; empty where they could not be read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Run
    terms: dict[str, Any]
    ledger: list[dict[str, Any]]
    verdicts: list[Verdict]
    files: list[ArchivedFile]
    digest: str = ""


class Archive(BaseModel):
    """The list of an archive. `key` is of this archive alone: two archives of the same records have different digests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    note: str = PRIVATE
    key: str
    runs: list[ArchivedRun]

    @classmethod
    def parse(cls, text: bytes) -> "Archive":
        """Read the list; raises WorkbenchError for one of another version and one that names a file outside its run's folder."""
        try:
            values = json.loads(text)
            if not isinstance(values, dict) or values.get("format") != FORMAT:
                raise WorkbenchError(f"Expected an archive of the format {FORMAT!r}. Update the workbench, or archive the runs anew.")
            archive = cls.model_validate(values)
        except json.JSONDecodeError:
            raise WorkbenchError(f"Expected a list of files in {LIST}, got no JSON.") from None
        except ValidationError as error:
            raise WorkbenchError(f"Expected an archive of runs. {first_complaint(error)}") from None
        for archived in archive.runs:
            if not ID.fullmatch(archived.run.id):
                raise WorkbenchError(f"Expected the id of a run, got {archived.run.id!r}.")
            for file in archived.files:
                check_path(file.path)
        return archive


def check_path(path: str) -> None:
    """Refuse a path that leads out of a run's folder, or to what no archive has."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or not pure.parts or {"..", "."} & set(path.split("/")) or "\\" in path or "\0" in path:
        raise WorkbenchError(f"Expected a file in the folder of a run, got {path!r}.")
    if is_left_out(pure):
        raise WorkbenchError(f"Expected no file that may hold a noise key or that of a home, got {path!r}.")


def is_left_out(path: PurePath) -> bool:
    """Whether no archive has a file of this path in its run's folder."""
    return path.name.startswith(LEFT_OUT) or path.parts[0] == AWAY


def member_of(run_id: str, path: str) -> str:
    """The name of a run's file in the archive."""
    return f"runs/{run_id}/{path}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_file(source: IO[bytes], target: IO[bytes]) -> tuple[int, str]:
    """Copy a file; its bytes and SHA-256."""
    digest, size = hashlib.sha256(), 0
    while block := source.read(BLOCK):
        digest.update(block)
        target.write(block)
        size += len(block)
    return size, digest.hexdigest()
