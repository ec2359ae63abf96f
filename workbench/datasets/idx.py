"""The IDX family (`mnist`, `fashion-mnist`): read from a folder, or downloaded once from public mirrors."""

import gzip
import math
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.download import fetch
from workbench.datasets.unpacking import check_unpacked
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

IMAGES, LABELS = "{}-images-idx3-ubyte", "{}-labels-idx1-ubyte"
IMAGES_MAGIC, LABELS_MAGIC = 2051, 2049
TRAIN, HELD_OUT = "train", "t10k"


@dataclass(frozen=True)
class IdxSource:
    """One dataset of the family: its classes, its published facts, where to find its files, and their MD5 as published (gzip)."""

    name: str
    classes: tuple[str, ...]
    mirrors: tuple[str, ...]
    md5: dict[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    num_records: int = 60_000
    shape: tuple[int, int, int] = (1, 28, 28)


def folders(source: IdxSource, root: Path) -> list[Path]:
    """Where the files may lie: a folder of the dataset's name in `root`, or `root` itself if it bears that name."""
    names = (source.name, *source.aliases)
    own = [root] if root.name in names else []
    return [folder for name in names for folder in (root / name, root / name / "raw")] + own


def find(source: IdxSource, name: str, root: Path) -> Path | None:
    """The file `name`, gzipped or not, in the first folder that has it."""
    choices = (folder / file for folder in folders(source, root) for file in (f"{name}.gz", name))
    return next((path for path in choices if path.is_file()), None)


def is_local(source: IdxSource, workspace: Workspace) -> bool:
    """Whether all four files are here, so that loading needs no network."""
    return all(find(source, kind.format(split), workspace.data) for split in (TRAIN, HELD_OUT) for kind in (IMAGES, LABELS))


def locate(source: IdxSource, name: str, root: Path) -> Path:
    """The file `name`, downloaded to `root` if it is nowhere yet."""
    path = find(source, name, root)
    return path or fetch(source.mirrors, f"{name}.gz", source.md5[f"{name}.gz"], root / source.name)


def open_idx(path: Path) -> IO[bytes]:
    """Open a file, through gzip where its name says so."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")  # type: ignore[return-value]


def read_header(file: IO[bytes], magic: int, path: Path) -> tuple[int, ...]:
    """The sizes in the header of an IDX file: a magic number whose last byte counts them, then as many big-endian int32."""
    head = file.read(4 + 4 * (magic & 0xFF))
    if len(head) < 4 + 4 * (magic & 0xFF):
        raise WorkbenchError(
            f"Expected an IDX file with a whole header in {path}, got {len(head)} bytes; delete it or put the original in its place."
        )
    came, *sizes = struct.unpack(f">{len(head) // 4}i", head)
    if came != magic:
        raise WorkbenchError(
            f"Expected an IDX file with magic number {magic} in {path}, got {came}; delete it or put the original in its place."
        )
    return tuple(sizes)


def read_idx(path: Path, magic: int) -> np.ndarray:
    """The array uint8 of an IDX file; a truncated or overlong one is refused."""
    try:
        with open_idx(path) as file:
            sizes = read_header(file, magic, path)
            count = check_count(sizes, path)
            most = count + 1 if path.suffix == ".gz" else -1  # one value too many shows that the file is overlong
            values = np.frombuffer(file.read(most), dtype=np.uint8)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WorkbenchError(
            f"Expected a whole gzip file in {path}, got a damaged one ({error}); delete it or put the original in its place."
        ) from error
    if values.size != count:
        came = f"{values.size} or more" if values.size > count else str(values.size)
        raise WorkbenchError(
            f"Expected {count} values in {path} as its header says, got {came}; delete it or put the original in its place."
        )
    return values.reshape(sizes).copy()


def check_count(sizes: tuple[int, ...], path: Path) -> int:
    """How many values the header announces, refused before they are read where it cannot be so or would be too much."""
    count = math.prod(sizes)
    if min(sizes) < 0:
        raise WorkbenchError(
            f"Expected no negative sizes in the header of {path}, got {sizes}; delete it or put the original in its place."
        )
    check_unpacked(path, path.stat().st_size, count)
    return count


def read_sizes(path: Path, magic: int) -> tuple[int, ...]:
    """The sizes of an IDX file, from its first bytes alone."""
    try:
        with open_idx(path) as file:
            return read_header(file, magic, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WorkbenchError(
            f"Expected a whole gzip file in {path}, got a damaged one ({error}); delete it or put the original in its place."
        ) from error


def facts(source: IdxSource, workspace: Workspace) -> DatasetFacts:
    """The facts in the header of the training images, or the published ones where the files are still to be downloaded."""
    path = find(source, IMAGES.format(TRAIN), workspace.data)
    count, shape = source.num_records, source.shape
    if path is not None:
        count, height, width = read_sizes(path, IMAGES_MAGIC)
        shape = (1, height, width)
    return DatasetFacts(name=source.name, kind=ImageKind(size=shape), num_records=count, classes=source.classes)


def read_split(source: IdxSource, split: str, root: Path) -> Records:
    """Images uint8 (N, 1, H, W) and labels of one split, each label one of the source's classes."""
    images = read_idx(locate(source, IMAGES.format(split), root), IMAGES_MAGIC)
    labels = read_idx(locate(source, LABELS.format(split), root), LABELS_MAGIC)
    if len(images) != len(labels):
        raise WorkbenchError(
            f"Expected as many labels as images in the {split} files of {source.name}, got {len(labels)} and {len(images)}."
        )
    if len(labels) and labels.max() >= len(source.classes):
        raise WorkbenchError(f"Expected labels 0 to {len(source.classes) - 1} in the {split} files of {source.name}, got {labels.max()}.")
    return Records(images[:, None], labels.astype(np.int64))


def load(source: IdxSource, workspace: Workspace) -> Dataset:
    """The published training and test files as training and held-out records."""
    train, held_out = (read_split(source, split, workspace.data) for split in (TRAIN, HELD_OUT))
    if train.records.shape[1:] != held_out.records.shape[1:]:
        raise WorkbenchError(
            f"Expected held-out images of {train.records.shape[2:]} pixels in {source.name}, got {held_out.records.shape[2:]}."
        )
    known = DatasetFacts(name=source.name, kind=ImageKind(size=train.records.shape[1:]), num_records=len(train), classes=source.classes)
    return Dataset(known, train, held_out)


MNIST = IdxSource(
    name="mnist",
    classes=tuple("0123456789"),
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    md5={
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    },
    aliases=("MNIST",),
)
FASHION_MNIST = IdxSource(
    name="fashion-mnist",
    classes=("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    mirrors=(
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
    md5={
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    },
    aliases=("FashionMNIST", "fashion_mnist"),
)
