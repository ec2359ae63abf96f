"""What evaluation keeps on disk because it costs as much as the measure: ceilings and feature classifiers.

Ceilings, and classifiers where there are no public records, come from private ones: the files stay in the workspace, readable by
the user alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.datasets.base import Dataset
from workbench.files import make_private_folder, write_text_atomically
from workbench.lazy import torch
from workbench.serialization import dumps
from workbench.training.state import load_saved, save_atomically
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from torch import Tensor

Moments = tuple[np.ndarray, np.ndarray]
VERSION = 2  # raised when a measure or a classifier changes, so that old values are not found


@dataclass(frozen=True)
class Cache:
    """What was computed in a workspace before, by keys that hold all that it depends on."""

    workspace: Workspace

    def fingerprint(self, dataset: Dataset) -> str:
        """Equal for equal training records, within this installation."""
        return dataset.fingerprint(self.workspace.key)

    def dataset_key(self, dataset: Dataset) -> str:
        """Equal for equal training and held-out records, within this installation."""
        return self.fingerprint(dataset) + self.fingerprint(replace(dataset, train=dataset.held_out))

    def value(self, key: tuple[Any, ...], compute: Callable[[], float]) -> float:
        """The number stored under `key`, or `compute()`, which is then stored."""
        path = self._path(key, "json")
        if path.exists():
            return float(json.loads(path.read_text(encoding="utf-8"))["value"])
        value = compute()
        write_text_atomically(path, dumps({"value": value}))
        return value

    def weights(self, key: tuple[Any, ...], compute: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
        """The weights stored under `key`, or `compute()`, which are then stored."""
        path = self._path(key, "pt")
        if not path.exists():
            save_atomically(compute(), path)
        return load_saved(path)

    def moments(self, key: tuple[Any, ...], compute: Callable[[], Moments]) -> Moments:
        """Mean and covariance of a reference set, stored under `key`; its records need no features then."""

        def tensors() -> dict[str, Tensor]:
            return {name: torch.from_numpy(values) for name, values in zip(("mean", "covariance"), compute(), strict=True)}

        moments = self.weights(("moments", *key), tensors)
        return moments["mean"].numpy(), moments["covariance"].numpy()

    def _path(self, key: tuple[Any, ...], suffix: str) -> Path:
        folder = self.workspace.cache / "evaluation"
        make_private_folder(folder)
        return folder / f"{hashlib.sha256(dumps([VERSION, *key]).encode()).hexdigest()[:32]}.{suffix}"
