"""Drawings made by a seed, kept in a folder: drawn at the first call, read at every other."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from workbench.datasets.resize import Shape
from workbench.files import make_private_folder, written_atomically
from workbench.records import Records

IMAGES, LABELS = "images", "labels"


def cache_path(name: str, version: int, num_records: int, shape: Shape, seed: int, folder: Path) -> Path:
    """Where drawings of these parameters are kept in `folder`; `version` is that of what draws them."""
    size = "x".join(map(str, shape))
    return folder / f"{name}-v{version}-{num_records}-{size}-seed{seed}.npz"


def cached_records(path: Path, draw: Callable[[], Records]) -> Records:
    """The images, labels and attributes kept at `path`; what is missing or damaged is drawn anew, and written whole or not at all."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        return Records(arrays.pop(IMAGES), arrays.pop(LABELS, None), arrays)
    except (FileNotFoundError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        records = draw()
        arrays = {IMAGES: records.records, **records.attributes} | ({} if records.labels is None else {LABELS: records.labels})
        make_private_folder(path.parent)
        with written_atomically(path, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        return records
