"""Features by a network of the user's own: a file in TorchScript form or an ExportedProgram, the standard Inception-v3 among them.

What a file's network learned from is not known, so its features count as made from private records unless the user says that they
are not; those of Inception-v3 are public. What goes in is fixed. A file gets images as float32 in [-1, 1], (N, C, H, W) at the
dataset's own size, and returns (N, D). The standard FID network (`inception-2015-12-05.pt`, of StyleGAN's authors) is called as they
call it: uint8 (N, 3, H, W), grey repeated three times, with `return_features=True`; it resizes by itself, and no image is rounded or
compressed on the way. It is known by its SHA-256, whatever the file is called: only in the features of that file is a Frechet distance
called FID. Loading a file runs what is in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from workbench.datasets.base import Dataset, to_unit_range
from workbench.errors import WorkbenchError
from workbench.evaluation import device
from workbench.evaluation.features import IMAGES, Feature, FeatureSpace
from workbench.lazy import torch, without_gradients
from workbench.records import Records

if TYPE_CHECKING:
    from torch import Tensor

TORCHSCRIPT, EXPORTED = (".pt", ".pth", ".ts"), (".pt2",)
INCEPTION = "Inception-v3"
INCEPTION_SHA256 = "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4"  # 95 607 719 bytes
INCEPTION_FEATURES = 2048
BATCH = 250
_NAMED = re.compile(r"(network|public):([0-9a-f]{64}):(.+)")
_MARK = 12  # digits of a digest that a label shows


def feature_name(text: str, *, public: bool = False) -> str:
    """The name by which a feature space is asked for: `text`, or where that is a file its digest and path.

    `public`: the user's word that no private record trained the file's network.
    """
    if not is_file(text):
        if public:
            raise WorkbenchError(f"Expected --features with the file that is public, got {text!r}.")
        return text
    path = Path(text).resolve()
    return f"{'public' if public else 'network'}:{_digest(path)}:{path}"


def is_file(name: str) -> bool:
    """Whether a feature space's name is that of a file, not of a line in the registry."""
    return Path(name).suffix in TORCHSCRIPT + EXPORTED


def is_fid(label: str) -> bool:
    """Whether a Frechet distance in the features of this label is what everybody calls FID."""
    return label.startswith(INCEPTION)


def file_features(name: str) -> Feature:
    """The features of the network in a file, by a name of `feature_name`."""
    named = _NAMED.fullmatch(name)
    if named is None:
        raise WorkbenchError(f"Expected a network's file by the name that feature_name gives it, got {name!r}.")
    said_public, path, digest = named[1] == "public", Path(named[3]), _digest(Path(named[3]))
    if digest != named[2]:
        raise WorkbenchError(f"Expected a file with the SHA-256 {named[2]}, {path} has {digest}. It is another one, or damaged.")
    standard, said = digest == INCEPTION_SHA256, ", public by the user's word" if said_public else ""
    label = f"{INCEPTION} ({digest[:_MARK]})" if standard else f"file {path.name} ({digest[:_MARK]}{said})"
    private = not (standard or said_public)

    def build(dataset: Dataset, *_unused: Any) -> FeatureSpace:
        call = _loaded_network(path, digest)
        feed = _for_inception if standard else _for_file
        return FeatureSpace(
            label,
            f"{label} {digest}",
            lambda records: _features_of(call, records, label, feed),
            private,
            StandardProbabilities(call) if standard else None,
        )

    return Feature(name, IMAGES, build, f"What the network in {path.name} makes of an image.")


def _digest(path: Path) -> str:
    if not path.is_file():
        raise WorkbenchError(f"Expected a network in TorchScript form (.pt) or an ExportedProgram (.pt2), found no file {path}.")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _loaded_network(path: Path, digest: str) -> Callable[..., Tensor]:
    """The network in a file; `digest` keeps a file that has changed from being taken for the former one."""
    return _loaded_on(path, digest, device.name())


@cache
def _loaded_on(path: Path, digest: str, place: str) -> Callable[..., Tensor]:
    del digest
    try:
        if path.suffix in EXPORTED:
            from torch.export.passes import move_to_device_pass

            loaded = torch.export.load(path)
            return (loaded if place == device.CPU else move_to_device_pass(loaded, place)).module()
        return torch.jit.load(str(path), map_location=place).eval()
    except (RuntimeError, ValueError, KeyError, OSError, BadZipFile) as error:
        what = "an ExportedProgram" if path.suffix in EXPORTED else "a network in TorchScript form"
        raise WorkbenchError(f"Expected {what} in {path}: {str(error).splitlines()[0]}") from None


@without_gradients
def _features_of(call: Callable[..., Tensor], records: Records, label: str, feed: Callable[..., Tensor]) -> np.ndarray:
    """Features (N, D) float32, in batches."""
    parts = [_rows(call, records.records[start : start + BATCH], label, feed) for start in range(0, len(records), BATCH)]
    return np.concatenate(parts)


def _rows(call: Callable[..., Tensor], images: np.ndarray, label: str, feed: Callable[..., Tensor]) -> np.ndarray:
    try:
        features = feed(call, images)
        rows = features.flatten(1).float().cpu().numpy()
    except (RuntimeError, TypeError, AttributeError, AssertionError) as error:
        message = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise WorkbenchError(f"Expected the {label} to make features (N, D) of {images.shape}; it says: {message}") from None
    wanted = INCEPTION_FEATURES if is_fid(label) else rows.shape[1]
    if rows.shape != (len(images), wanted):
        raise WorkbenchError(f"Expected features ({len(images)}, {wanted}) from the {label}, got {rows.shape}.")
    if not rows.size or not np.isfinite(rows).all():
        what = "none" if not rows.size else "some that are infinite or no numbers"
        raise WorkbenchError(f"Expected features that are finite numbers from the {label}, got {what}.")
    return rows


def _for_file(call: Callable[..., Tensor], images: np.ndarray) -> Tensor:
    return call(torch.from_numpy(to_unit_range(images)).to(device.current_device()))


def _for_inception(call: Callable[..., Tensor], images: np.ndarray) -> Tensor:
    return call(_in_colour(images), return_features=True)


def _in_colour(images: np.ndarray) -> Tensor:
    three = np.repeat(images, 3, axis=1) if images.shape[1] == 1 else images
    return torch.from_numpy(np.ascontiguousarray(three)).to(device.current_device())


@dataclass(frozen=True)
class StandardProbabilities:
    """The standard network's probabilities, as StyleGAN's authors take them for the Inception Score."""

    call: Callable[..., Tensor]

    @without_gradients
    def probabilities(self, records: Records) -> np.ndarray:
        """Of its classes, float32 (N, C)."""
        parts = (records.records[start : start + BATCH] for start in range(0, len(records), BATCH))
        return np.concatenate([self.call(_in_colour(part), no_output_bias=True).float().cpu().numpy() for part in parts])
