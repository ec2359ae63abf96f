"""Samples as files: an .npz that any tool reads, and that the workbench reads back as a dataset."""

import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.errors import DamagedFileError
from workbench.files import written_atomically
from workbench.records import KINDS, RecordKind, Records
from workbench.serialization import dumps


def write_records(records: Records, path: Path, notes: dict[str, Any], facts: DatasetFacts) -> None:
    """Write records of the schema of `facts`, with what explains them, and `notes` as JSON.

    Records as their kind keeps them; `labels` and the names of the `classes`; of each attribute `attribute_NAME` and the names
    of its values `values_of_NAME`. A reader sees the old file or the new one. Nothing in it needs unpickling.
    """
    with written_atomically(path, "wb") as file:
        np.savez_compressed(file, **arrays_of(records, notes, facts))  # type: ignore[arg-type]


def arrays_of(records: Records, notes: dict[str, Any], facts: DatasetFacts) -> dict[str, np.ndarray]:
    """The arrays of `write_records` by name."""
    arrays = {"notes": np.array(dumps(notes)), **facts.kind.to_arrays(records.records)}
    if records.labels is not None:
        arrays["labels"] = records.labels
    if facts.classes:
        arrays["classes"] = np.array(facts.classes)
    for name, values in records.attributes.items():
        arrays |= {f"attribute_{name}": values, f"values_of_{name}": np.array(facts.attributes[name])}
    return arrays


@contextmanager
def open_arrays(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    """An .npz of arrays; one that cannot be read is a sentence."""
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, AttributeError, TypeError) as error:
        raise DamagedFileError(f"Expected whole arrays in {path}, got a damaged file ({error}). Move it away: it is made anew.") from error


def read_records(path: Path) -> Records:
    """Read what `write_records` wrote."""
    with open_arrays(path) as file:
        return records_of(file)


def records_of(arrays: Mapping[str, np.ndarray]) -> Records:
    """The records in the arrays of `write_records`."""
    attributes = {name.removeprefix("attribute_"): arrays[name] for name in arrays if name.startswith("attribute_")}
    return Records(_kind_in(arrays).from_arrays(arrays), arrays.get("labels"), attributes)


def _kind_in(names: Collection[str]) -> type[RecordKind]:
    """The kind of the records that are in a file of these arrays."""
    kinds = [kind for kind in KINDS.values() if kind.array_name in names]
    if len(kinds) != 1:
        raise ValueError(f"expected {' or '.join(kind.array_name for kind in KINDS.values())} among {', '.join(names) or 'no arrays'}")
    return kinds[0]
