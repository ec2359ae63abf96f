"""Samples made elsewhere: a file of images or rows that belongs to a dataset; nothing is known of how private they are."""

import hashlib
import hmac
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets import arrays
from workbench.datasets.base import DatasetFacts
from workbench.datasets.csv_table import read_in
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.reference import DatasetRef
from workbench.datasets.row_files import text_rows
from workbench.datasets.table_files import SUFFIXES
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import make_private_folder, write_text_atomically
from workbench.jobs.job import check_id
from workbench.records import Records, TableKind
from workbench.runs.run import check_run_id
from workbench.runs.sample_files import write_records
from workbench.runs.samples.request import DEFAULT
from workbench.runs.samples.sets import ProgressFunction, SampleSet
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset

REASON = "These samples were made elsewhere: nothing is known of what they were made from, so no bound holds for them."
SIGNED_OR_NOT = "iu"
MOST_CHARACTERS = 100  # of a name


class Import(BaseModel):
    """What is kept of an import beside its samples: its name, the dataset it belongs to, and how many there are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    dataset: DatasetRef
    facts: DatasetFacts
    fingerprint: str
    num_samples: int
    created: float


class ImportedSamples(SampleSet):
    """One set of samples made elsewhere; its id is its owner's too."""

    noun: ClassVar[str] = "import"

    def __init__(self, workspace: Workspace, import_id: str, about: Import) -> None:
        self.workspace, self.about = workspace, about
        self.owner, self.id = import_id, DEFAULT
        self.facts, self.place, self.fingerprint = about.facts, about.dataset, about.fingerprint
        self.folder = _folder(workspace, import_id)

    @property
    def title(self) -> str:
        """The name given to it, and the dataset it belongs to."""
        return f"Import {self.owner}: {self.about.name}, made elsewhere, for {self.facts.name}"

    @property
    def summary(self) -> str:
        """The name given to it."""
        return f"made elsewhere: {self.about.name}"

    @property
    def bound(self) -> None:
        """None known."""
        return None

    @property
    def releasable(self) -> bool:
        """Never by itself."""
        return False

    @property
    def release_reason(self) -> str:
        """That no bound is known."""
        return REASON

    @property
    def default_num_samples(self) -> int:
        """All there are."""
        return self.about.num_samples

    def check_number(self, num_samples: int) -> None:
        """As many as were imported."""
        if not 1 <= num_samples <= self.about.num_samples:
            raise WorkbenchError(
                f"Expected 1 to {self.about.num_samples} samples of {self.about.name}, got {num_samples}: no more were imported."
            )

    def records(self, num_samples: int | None = None, progress: ProgressFunction | None = None) -> Records:
        """The first `num_samples` of those that were imported; there are no others."""
        wanted = self.about.num_samples if num_samples is None else num_samples
        self.check_number(wanted)
        if (kept := self.kept_records()) is None:
            raise DamagedFileError(f"Expected samples in {self.file}, found none. Import them again.")
        return kept.take(slice(0, wanted))

    def public_dataset(self) -> "Dataset | None":
        """The companion of its dataset, which a run's samples are compared in too."""
        from workbench import training_data

        return training_data.companion(self.facts, self.workspace)

    def notes(self) -> dict[str, Any]:
        """Where they come from, and that nothing is known of their privacy."""
        about = {"import": self.owner, "name": self.about.name, "dataset": self.facts.name}
        return {**about, "bound": None, "reason": REASON, "releasable": False}


def import_samples(workspace: Workspace, file: Path, dataset: DatasetRef, name: str = "") -> ImportedSamples:
    """Keep the samples in `file` as samples for `dataset`, named `name` (by default as the file); the same import again is the same set.

    It is an .npz as `workbench sample` writes it, of `images` (N, H, W, C) or `rows` and of `labels` where there are classes, or a .csv
    or .parquet with the dataset's columns.
    Refuses what is not of the dataset's kind, shape, type and labels, and a name that is no line of at most 100 characters.
    """
    if len(name) > MOST_CHARACTERS or (name and not name.strip()) or not name.isprintable():
        raise WorkbenchError(
            f"Expected a name of 1 to {MOST_CHARACTERS} printable characters, got {len(name)}: {name[:MOST_CHARACTERS]!r}."
        )
    loaded = dataset.load(workspace=workspace)
    records = read_samples(file, loaded.facts, dataset.declared)
    about = Import(
        name=name or file.stem[:MOST_CHARACTERS],
        dataset=dataset,
        facts=loaded.facts,
        fingerprint=loaded.fingerprint(workspace.key),
        num_samples=len(records),
        created=time.time(),
    )
    samples = ImportedSamples(workspace, _id_of(workspace, about, records), about)
    if not (samples.file.exists() and is_import(workspace, samples.owner)):
        make_private_folder(workspace.imports)
        make_private_folder(samples.folder)
        write_records(records, samples.file, samples.notes(), samples.facts)
        write_text_atomically(_about_file(samples.folder), dumps(about, indent=2))  # last: what is listed is whole
    return read_import(workspace, samples.owner)


def read_samples(file: Path, facts: DatasetFacts, declared: TableDeclaration | None = None) -> Records:
    """The samples in a file, checked as records of the schema of `facts`; no object in it is unpickled.

    Rows of text are read as `declared`, or by the facts alone where nothing is.
    """
    if not file.is_file():
        raise WorkbenchError(f"Expected an .npz file of samples, or a {' or '.join(SUFFIXES)} of rows, got {file}.")
    if file.suffix in SUFFIXES:
        return checked_records(_rows_in(file, facts, declared), facts, file)
    kind, headers = facts.kind, arrays.read_headers(file)
    names = [kind.array_name] + ["labels"] * bool(facts.classes)
    for missing in (expected for expected in names if expected not in headers):
        raise WorkbenchError(f"Expected an array {missing!r} in {file}, got {', '.join(headers) or 'none'}. {facts.name} has {kind.noun}.")
    if len(headers[kind.array_name][0]) != len(facts.shape) + 1:
        raise WorkbenchError(
            f"Expected {kind.array_name} of {len(facts.shape) + 1} dimensions in {file}, got {headers[kind.array_name][0]}."
        )
    named_arrays = arrays.read_arrays(file, names)
    samples = kind.from_arrays(named_arrays)
    if samples.shape[1:] != facts.shape:
        raise WorkbenchError(f"Expected samples of shape {facts.shape}, as {facts.name} has, in {file}, got {samples.shape[1:]}.")
    labels = _labels(named_arrays["labels"], len(samples), file) if facts.classes else None
    return checked_records(Records(samples, labels), facts, file)


def checked_records(records: Records, facts: DatasetFacts, file: Path) -> Records:
    """The records, if they are at least two of the schema of `facts`."""
    if len(records) < 2:
        raise WorkbenchError(f"Expected at least 2 samples in {file}, got {len(records)}.")
    facts.model_copy(update={"num_records": len(records), "attributes": {}}).check(records)
    return records


def _rows_in(file: Path, facts: DatasetFacts, declared: TableDeclaration | None) -> Records:
    """Rows of text by the numbers of their categories, the columns in the dataset's order."""
    kind = TableKind.of(facts.kind)
    known = (declared or TableDeclaration.of_kind(kind, facts.classes)).in_order([column.name for column in kind.columns])
    return read_in(*text_rows(file), known.model_copy(update={"person": "", "rows_per_person": 0}), file.name).records


def is_import(workspace: Workspace, import_id: str) -> bool:
    """Whether something was imported under this id."""
    return _about_file(_folder(workspace, import_id)).exists()


def read_import(workspace: Workspace, import_id: str) -> ImportedSamples:
    """What was imported under an id; an unknown one is an error."""
    path = _about_file(_folder(workspace, check_id(import_id, "import", "workbench samples")))
    if not path.exists():
        raise WorkbenchError(f"Unknown import {import_id!r}. `workbench samples` lists them.")
    try:
        return ImportedSamples(workspace, import_id, Import.model_validate_json(path.read_text()))
    except ValidationError:
        raise DamagedFileError(f"Expected what is known of an import in {path}, got a damaged file. Move its folder away.") from None


def imports(workspace: Workspace) -> list[ImportedSamples]:
    """All that was imported, newest first."""
    sets = [read_import(workspace, path.parent.name) for path in workspace.imports.glob(f"*/{_about_file(Path()).name}")]
    return sorted(sets, key=lambda samples: -samples.about.created)


def _id_of(workspace: Workspace, about: Import, records: Records) -> str:
    """Eight hex digits of name, dataset and samples, keyed to this installation."""
    digest = hmac.new(workspace.key, digestmod=hashlib.sha256)
    digest.update(dumps([about.name, about.dataset, about.fingerprint, records.records.shape]).encode())
    for values in (records.records, records.labels):
        if values is not None:
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:8]


def _labels(labels: np.ndarray, count: int, file: Path) -> np.ndarray:
    if labels.dtype.kind not in SIGNED_OR_NOT or labels.shape != (count,):
        raise WorkbenchError(f"Expected labels as {count} integers in {file}, got {labels.dtype} {labels.shape}. Give one label a sample.")
    return labels.astype(np.int64)


def _folder(workspace: Workspace, import_id: str) -> Path:
    return workspace.imports / check_run_id(import_id)


def _about_file(folder: Path) -> Path:
    return folder / "import.json"
