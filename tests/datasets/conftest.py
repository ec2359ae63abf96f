"""Small IDX files for the tests."""

import gzip
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


def to_idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    return struct.pack(f">{1 + array.ndim}i", 2048 + array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write(folder: Path, compress: bool = True, seed: int = 0) -> dict[str, str]:
    """The four files of a dataset with ten classes, 30 and 10 images of 6x6; their MD5 by name."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    md5 = {}
    for split, count in (("train", 30), ("t10k", 10)):
        arrays = {"images-idx3": rng.integers(256, size=(count, 6, 6)), "labels-idx1": np.arange(count) % 10}
        for kind, array in arrays.items():
            name = f"{split}-{kind}-ubyte" + (".gz" if compress else "")
            content = gzip.compress(to_idx(array), mtime=0) if compress else to_idx(array)
            (folder / name).write_bytes(content)
            md5[name] = hashlib.md5(content).hexdigest()
    return md5


@pytest.fixture
def idx_bytes() -> Callable[[np.ndarray], bytes]:
    """The function that makes an IDX file of an array."""
    return to_idx


@pytest.fixture
def write_family() -> Callable[..., dict[str, str]]:
    """The function that writes the four files of a dataset."""
    return write
