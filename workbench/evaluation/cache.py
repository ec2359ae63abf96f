"""What evaluation keeps on disk because it costs as much as the measure: ceilings and feature classifiers.

Ceilings, and classifiers where there are no public records, come from private ones: the files stay in `home()`, readable by
the user alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.datasets.base import Dataset
from workbench.files import make_private_folder, write_text_atomically
from workbench.home import home
from workbench.serialization import dumps
from workbench.training.state import load_saved, save_atomically

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 2  # raised when a measure or a classifier changes, so that old values are not found


def dataset_key(dataset: Dataset) -> str:
    """Equal for equal training and held-out records, within this installation."""
    return dataset.fingerprint + replace(dataset, train=dataset.held_out).fingerprint


def remembered_value(key: tuple[Any, ...], compute: Callable[[], float]) -> float:
    """The number stored under `key`, or `compute()`, which is then stored; `key` holds all that it depends on."""
    path = _path(key, "json")
    if path.exists():
        return float(json.loads(path.read_text(encoding="utf-8"))["value"])
    value = compute()
    write_text_atomically(path, dumps({"value": value}))
    return value


def remembered_weights(key: tuple[Any, ...], compute: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """The weights stored under `key`, or `compute()`, which are then stored."""
    path = _path(key, "pt")
    if not path.exists():
        save_atomically(compute(), path)
    return load_saved(path)


def _path(key: tuple[Any, ...], suffix: str) -> Path:
    folder = home() / "cache" / "evaluation"
    make_private_folder(folder)
    return folder / f"{hashlib.sha256(dumps([VERSION, *key]).encode()).hexdigest()[:32]}.{suffix}"
