"""Small files of the registered datasets for the tests."""

import gzip
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench.datasets import adult, celeba, cifar


def to_idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    return struct.pack(f">{1 + array.ndim}i", 2048 + array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write(folder: Path, compress: bool = True, seed: int = 0, num_train: int = 30) -> dict[str, str]:
    """The four files of a dataset with ten classes, `num_train` and 10 images of 6x6; their MD5 by name."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    md5 = {}
    for split, count in (("train", num_train), ("t10k", 10)):
        arrays = {"images-idx3": rng.integers(256, size=(count, 6, 6)), "labels-idx1": np.arange(count) % 10}
        for kind, array in arrays.items():
            name = f"{split}-{kind}-ubyte" + (".gz" if compress else "")
            content = gzip.compress(to_idx(array), mtime=0) if compress else to_idx(array)
            (folder / name).write_bytes(content)
            md5[name] = hashlib.md5(content).hexdigest()
    return md5


def write_cifar(folder: Path, seed: int = 0) -> None:
    """The six binary files, of 20 records each, every class in each."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*cifar.TRAIN, *cifar.HELD_OUT):
        rows = rng.integers(256, size=(20, cifar.RECORD_BYTES), dtype=np.uint8)
        rows[:, 0] = np.arange(20) % 10
        (folder / name).write_bytes(rows.tobytes())


def write_celeba(folder: Path, count: int = 12, block: int = 1) -> None:
    """Both lists and `count` pictures of one colour each: two thirds train, then blocks for validation and test; attributes in turn."""
    (folder / celeba.IMAGES).mkdir(parents=True)
    names = [f"{number:06}.jpg" for number in range(1, count + 1)]
    for number, name in enumerate(names):
        Image.new("RGB", (178, 218), (number * 20 % 256, 100, 255 - number * 20 % 256)).save(folder / celeba.IMAGES / name)
    parts = [0 if number < count * 2 // 3 else 1 + number // block % 2 for number in range(count)]
    (folder / celeba.PARTITION).write_text("".join(f"{name} {part}\n" for name, part in zip(names, parts, strict=True)))
    columns = ("Bald", *celeba.HAIR, "Male", "Smiling")
    rows = [f"{name}  " + " ".join("1" if (number >> place) & 1 else "-1" for place in range(6)) for number, name in enumerate(names)]
    (folder / celeba.ATTRIBUTES).write_text("\n".join([str(count), " ".join(columns), *rows]) + "\n")


def write_imagenet(folder: Path) -> None:
    """Three classes with four pictures of different sizes in `train` and two in `val`."""
    for split, count in (("train", 4), ("val", 2)):
        for label, name in enumerate(("n01440764", "n01443537", "n01484850")):
            (folder / split / name).mkdir(parents=True)
            for number in range(count):
                colour = (label * 100, number * 50, 10)
                size = (40 + number, 30 + label) if number % 2 else (30 + label, 40 + number)
                Image.new("RGB", size, colour).save(folder / split / name / f"{number}.JPEG")


def write_adult(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 people to train on and 10 held out, as the published files have them; they are taken for the published ones."""
    folder.mkdir(parents=True)
    for name, count, end in ((adult.TRAIN, 30, ""), (adult.HELD_OUT, 10, ".")):
        lines = [
            f"{20 + place}, {'Private' if place % 3 else '?'}, 77516, Bachelors, 13, Divorced, Sales, Husband, White, Male, "
            f"{place % 2 * 7688}, 0, 40, ?, {'>50K' if place % 4 == 0 else '<=50K'}{end}"
            for place in range(count)
        ]
        comment = ["|1x3 Cross validator"] if end else []
        (folder / name).write_text("\n".join([*comment, *lines, "", ""]))
        published = adult.PublishedFile(count, hashlib.sha256("\n".join(lines).encode()).hexdigest())
        monkeypatch.setitem(adult.PUBLISHED, name, published)


WRITERS: dict[str, Callable[[Path], object]] = {
    "mnist": write,
    "mnist-validation": lambda folder: write(folder.parent / "mnist", num_train=120),  # a twelfth of them is ten
    "fashion-mnist": write,
    "fashion-mnist-validation": lambda folder: write(folder.parent / "fashion-mnist", num_train=120),
    "cifar-10": write_cifar,
    "celeba": write_celeba,
    "celeba-all": lambda folder: write_celeba(folder.parent / "celeba"),
    "celeba-hair": lambda folder: write_celeba(folder.parent / "celeba", 96, block=16),
    "imagenet": write_imagenet,
}


@pytest.fixture
def write_dataset(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], object]:
    """The function that writes small files of a registered dataset to a folder of data."""
    writers = WRITERS | {"adult": lambda folder: write_adult(folder, monkeypatch)}
    return lambda name, data: writers[name](data / name)


@pytest.fixture
def idx_bytes() -> Callable[[np.ndarray], bytes]:
    """The function that makes an IDX file of an array."""
    return to_idx


@pytest.fixture
def write_family() -> Callable[..., dict[str, str]]:
    """The function that writes the four files of a dataset."""
    return write
