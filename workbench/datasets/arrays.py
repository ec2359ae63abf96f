"""The user's own images as arrays: one `.npz` file, read without unpickling anything.

`images` uint8 (N, H, W, C) with C 1 or 3 and `labels` integers (N,); if there are `held_out_images` and `held_out_labels` they are
the held-out records, otherwise a sixth of each class is. `classes` (K,) may name the labels 0..K-1; without it the distinct labels
are the classes. Counts, shape and classes are taken to be public.
"""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts, Records
from workbench.datasets.splits import check_splittable, held_out_count, stratified_split
from workbench.errors import WorkbenchError

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
Header = tuple[tuple[int, ...], np.dtype]


def read_headers(path: Path) -> dict[str, Header]:
    """Shape and type of every array in the file; one that holds Python objects is refused unread."""
    try:
        with zipfile.ZipFile(path) as archive:
            headers = {name.removesuffix(".npy"): read_header(archive, name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, KeyError, OSError, EOFError, zlib.error) as error:
        raise WorkbenchError(
            f"Expected an .npz file of arrays in {path}, got a file that cannot be read ({error}); write it with numpy.savez."
        ) from error
    objects = [name for name, (_, dtype) in headers.items() if dtype.hasobject]
    if objects:
        raise WorkbenchError(
            f"Expected arrays of numbers in {path}, got objects in {', '.join(objects)}, which are never unpickled; save plain arrays."
        )
    return headers


def read_header(archive: zipfile.ZipFile, name: str) -> Header:
    """Shape and type from the header of one `.npy` member."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"{name} has format version {version}")
        shape, _, dtype = HEADERS[version](file)
    return shape, dtype


def check_pair(headers: Mapping[str, Header], prefix: str, path: Path) -> None:
    """Refuse images or labels of one split that are missing or of the wrong type, shape or length."""
    for name in (f"{prefix}images", f"{prefix}labels"):
        if name not in headers:
            raise WorkbenchError(f"Expected an array {name!r} in {path}, got {', '.join(headers) or 'none'}; add it.")
    shape, dtype = headers[f"{prefix}images"]
    if dtype != np.uint8 or len(shape) != 4 or shape[3] not in (1, 3) or not all(shape):
        raise WorkbenchError(f"Expected {prefix}images uint8 (N, H, W, C) with C 1 or 3 in {path}, got {dtype} {shape}; convert them.")
    label_shape, label_dtype = headers[f"{prefix}labels"]
    if label_dtype.kind not in "iu" or label_shape != shape[:1]:
        raise WorkbenchError(
            f"Expected {prefix}labels as {shape[0]} integers in {path}, got {label_dtype} {label_shape}; give one label an image."
        )


def check_headers(path: Path) -> tuple[dict[str, Header], bool]:
    """The headers of a valid file, and whether it brings held-out records of its own."""
    headers = read_headers(path)
    check_pair(headers, "", path)
    brings = "held_out_images" in headers or "held_out_labels" in headers
    if brings:
        check_pair(headers, "held_out_", path)
        own, other = headers["images"][0][1:], headers["held_out_images"][0][1:]
        if own != other:
            raise WorkbenchError(f"Expected held_out_images of {own} (H, W, C) as images in {path}, got {other}; resize or convert them.")
    return headers, brings


def class_names(arrays: Mapping[str, np.ndarray], path: Path) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """The classes, and the label arrays of `arrays` as positions among them, int64."""
    labels = {name: arrays[name] for name in ("labels", "held_out_labels") if name in arrays}
    together = np.concatenate([values.astype(np.int64) for values in labels.values()])
    if "classes" not in arrays:
        distinct = np.unique(together)
        return tuple(map(str, distinct)), {name: np.searchsorted(distinct, values) for name, values in labels.items()}
    names = tuple(map(str, arrays["classes"]))
    if together.min() < 0 or together.max() >= len(names):
        raise WorkbenchError(
            f"Expected labels 0 to {len(names) - 1} for the classes in {path}, got {together.min()} to {together.max()}; correct them."
        )
    return names, {name: values.astype(np.int64) for name, values in labels.items()}


def read_arrays(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The named arrays that the file has."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in names if name in archive.files}
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, zlib.error) as error:
        raise WorkbenchError(f"Expected whole arrays in {path}, got a damaged file ({error}); write it anew with numpy.savez.") from error


def describe(path: Path) -> tuple[DatasetFacts, dict[str, np.ndarray]]:
    """The facts about a valid file, and its labels as positions among the classes; no pixel is read."""
    headers, brings = check_headers(path)
    names, labels = class_names(read_arrays(path, ["labels", "held_out_labels", "classes"]), path)
    counts = np.bincount(labels["labels"], minlength=len(names))
    num_records = len(labels["labels"])
    if not brings:
        check_splittable(dict(zip(names, counts.tolist(), strict=True)), str(path))
        num_records -= sum(held_out_count(count) for count in counts.tolist())
    _, height, width, channels = headers["images"][0]
    return DatasetFacts(name=path.stem, num_records=num_records, shape=(channels, height, width), classes=names), labels


def facts(path: Path) -> DatasetFacts:
    """Counts and classes from the labels, the shape from the header of the images."""
    return describe(path)[0]


def load(path: Path, seed: int = 0) -> Dataset:
    """The file's records, split by `stratified_split` unless it brings held-out records."""
    known, labels = describe(path)
    pixels = read_arrays(path, ["images", "held_out_images"])
    images = {name: np.ascontiguousarray(np.moveaxis(values, -1, 1)) for name, values in pixels.items()}
    records = Records(images["images"], labels["labels"])
    if "held_out_images" in images:
        return Dataset(known, records, Records(images["held_out_images"], labels["held_out_labels"]))
    train, held_out = stratified_split(labels["labels"], seed)
    return Dataset(known, records.take(train), records.take(held_out))
