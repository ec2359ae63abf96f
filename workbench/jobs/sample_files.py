"""Samples as files: an .npz that any tool reads, and that the workbench reads back as a dataset."""

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import DamagedFileError
from workbench.files import written_atomically
from workbench.records import Records
from workbench.serialization import dumps


def write_records(records: Records, path: Path, notes: dict[str, Any], classes: Sequence[str] = ()) -> None:
    """Write `images` uint8 (N, H, W, C) or `rows` int64 (N, columns), `labels`, attributes, the names of `classes`, `notes` as JSON.

    A reader sees the old file or the new one. Nothing in it needs unpickling.
    """
    is_image = records.records.ndim == 4
    arrays = {"images": records.records.transpose(0, 2, 3, 1)} if is_image else {"rows": records.records}
    if records.labels is not None:
        arrays["labels"] = records.labels
    if classes:
        arrays["classes"] = np.array(classes)
    arrays |= {f"attribute_{name}": values for name, values in records.attributes.items()}
    with written_atomically(path, "wb") as file:
        np.savez_compressed(file, notes=np.array(dumps(notes)), **arrays)  # type: ignore[arg-type]


@contextmanager
def opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    """An .npz of arrays; one that cannot be read is a sentence."""
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, AttributeError, TypeError) as error:
        raise DamagedFileError(f"Expected whole arrays in {path}, got a damaged file ({error}). Move it away: it is made anew.") from error


def read_records(path: Path) -> Records:
    """Read what `write_records` wrote."""
    with opened(path) as file:
        records = file["images"].transpose(0, 3, 1, 2) if "images" in file else file["rows"]
        attributes = {name.removeprefix("attribute_"): file[name] for name in file.files if name.startswith("attribute_")}
        labels = file["labels"] if "labels" in file.files else None
        return Records(np.ascontiguousarray(records), labels, attributes)


def read_notes(path: Path) -> dict[str, Any]:
    """The notes of a file of samples: run, bound, claim, whether it may leave the room."""
    with opened(path) as file:
        return json.loads(str(file["notes"]))
