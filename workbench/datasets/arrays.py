"""The user's own images as arrays: one `.npz` file, read without unpickling anything.

`images` uint8 (N, H, W, C) with C 1 or 3 and `labels` integers (N,) from 0 to K-1; `classes` (K,) names the classes, or the reader
gives their names: they are declared and public, never found in the labels. `held_out_images` and `held_out_labels`, if there, are
the held-out records; otherwise a sixth is, by position and seed alone. So the facts follow from the file's lengths and names, and no
image, label or attribute decides another record's place. Attributes are as `attributes` says.
"""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workbench.datasets.attributes import HELD_OUT, Header, check_attributes, is_attribute, positions, value_names, value_numbers
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.naming import check_words
from workbench.datasets.splits import check_splittable, held_out_count, position_split
from workbench.datasets.unpacking import check_unpacked
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
IMAGES = ("images", "held_out_images")
READ = (*IMAGES, "labels", "held_out_labels", "classes")
Beside = tuple[np.ndarray, dict[str, np.ndarray]]  # labels (N,) and attributes, each (N,)
UNREADABLE = (zipfile.BadZipFile, ValueError, KeyError, OSError, EOFError, RuntimeError, zlib.error)


def read_headers(path: Path) -> dict[str, Header]:
    """Shape and type of every array in the file; one that holds Python objects is refused unread, as is what unpacks to too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            headers = {name.removesuffix(".npy"): read_header(archive, name) for name in archive.namelist()}
            unpacked = sum(item.file_size for item in archive.infolist() if is_read(item.filename.removesuffix(".npy")))
    except UNREADABLE as error:
        raise WorkbenchError(
            f"Expected an .npz file of arrays in {path}, got a file that cannot be read ({error}); write it with numpy.savez."
        ) from error
    objects = [name for name, (_, dtype) in headers.items() if dtype.hasobject]
    if objects:
        raise WorkbenchError(
            f"Expected arrays of numbers in {path}, got objects in {', '.join(objects)}, which are never unpickled; save plain arrays."
        )
    check_unpacked(path, path.stat().st_size, unpacked)
    return headers


def is_read(array: str) -> bool:
    """Whether an array of this name is ever read."""
    return array in READ or is_attribute(array)


def read_header(archive: zipfile.ZipFile, name: str) -> Header:
    """Shape and type from the header of one `.npy` member, which must be as long as they say: reading gives no byte more."""
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"{name} has format version {version}")
        shape, _, dtype = HEADERS[version](file)
        length = file.tell()
    expected = length + dtype.itemsize * int(np.prod([int(size) for size in shape], dtype=object))
    if not dtype.hasobject and archive.getinfo(name).file_size != expected:
        raise ValueError(f"{name} has {archive.getinfo(name).file_size} bytes where its header says {expected}")
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


def check_headers(path: Path) -> tuple[dict[str, Header], bool, tuple[str, ...]]:
    """The headers of a valid file, whether it brings held-out records of its own, and the names of its attributes."""
    headers = read_headers(path)
    check_pair(headers, "", path)
    brings = "held_out_images" in headers or "held_out_labels" in headers
    if brings:
        check_pair(headers, "held_out_", path)
        own, other = headers["images"][0][1:], headers["held_out_images"][0][1:]
        if own != other:
            raise WorkbenchError(f"Expected held_out_images of {own} (H, W, C) as images in {path}, got {other}; resize or convert them.")
    if "classes" in headers and (len(headers["classes"][0]) != 1 or headers["classes"][1].kind not in "iuU"):
        shape, dtype = headers["classes"]
        raise WorkbenchError(f"Expected classes as a list of names in {path}, got {dtype} {shape}; correct it.")
    return headers, brings, check_attributes(headers, brings, path)


def class_names(arrays: Mapping[str, np.ndarray], given: Sequence[str], path: Path) -> tuple[str, ...]:
    """The declared classes: the file's, or those given where it has none."""
    own = tuple(map(str, arrays["classes"])) if "classes" in arrays else ()
    if given and own and tuple(given) != own:
        raise WorkbenchError(f"Expected no other classes than those that {path} names ({', '.join(own)}), got {', '.join(given)}.")
    if not (own or given):
        labels = arrays["labels"]
        last = min(max(int(labels.max()), 1), 9)
        raise WorkbenchError(
            f"Expected the names of the classes of {path}, got none: what is public is declared and not found in private labels. "
            f"Add an array `classes` to the file, or give their names in order, as --classes {','.join(map(str, range(last + 1)))}."
        )
    return check_words(own or tuple(given), "class names")


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The named arrays that the file has."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in names if name in archive.files}
    except UNREADABLE as error:
        raise WorkbenchError(f"Expected whole arrays in {path}, got a damaged file ({error}); write it anew with numpy.savez.") from error


def describe(path: Path, name: str, classes: Sequence[str] = ()) -> tuple[DatasetFacts, dict[str, Beside]]:
    """The facts about a valid file, and what stands beside the images of each split; no pixel is read, and no label decides a fact."""
    headers, brings, attributes = check_headers(path)
    arrays = read_arrays(path, [array for array in headers if is_read(array) and array not in IMAGES])
    names, values = class_names(arrays, classes, path), value_names(arrays, attributes)
    beside: dict[str, Beside] = {}
    for split in ("", HELD_OUT) if brings else ("",):
        labels = positions(arrays[f"{split}labels"], len(names), "labels", f"the classes in {path}")
        beside[split] = labels, value_numbers(arrays, values, split, path)
    count, height, width, channels = headers["images"][0]
    if not brings:
        check_splittable(count, str(path))
        count -= held_out_count(count)
    kind = ImageKind(size=(channels, height, width))
    return DatasetFacts(name=name, kind=kind, num_records=count, classes=names, attributes=values), beside


def load(path: Path, name: str, seed: int = 0, classes: Sequence[str] = ()) -> Dataset:
    """The file's records, split by `position_split` unless it brings held-out records."""
    known, beside = describe(path, name, classes)
    pixels = read_arrays(path, [f"{split}images" for split in beside])
    parts_by_split = {
        split: Records(np.ascontiguousarray(np.moveaxis(pixels[f"{split}images"], -1, 1)), *parts) for split, parts in beside.items()
    }
    if HELD_OUT in parts_by_split:
        return Dataset(known, parts_by_split[""], parts_by_split[HELD_OUT])
    records = parts_by_split[""]
    train, held_out = position_split(len(records), seed)
    return Dataset(known, records.take(train), records.take(held_out))
