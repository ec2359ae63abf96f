"""A folder of images, decoded once: its pixels in the home's cache, for their owner alone, until a file of it changes or it is gone."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from workbench.datasets.resize import Shape
from workbench.files import make_private_folder, write_text_atomically, written_atomically
from workbench.workspace import Workspace

VERSION = 1  # of the way images are decoded and resized: in the name of a kept file
FOLDERS = "folders"  # in the cache


@dataclass(frozen=True)
class KeptFolder:
    """What is kept of one state of a folder, which is that of its files' names, sizes and times; private, as the images are."""

    cache: Path
    root: Path
    state: str

    @classmethod
    def of(cls, root: Path, files: Sequence[str], workspace: Workspace) -> Self:
        """That of a folder with these files, by their places in it, as they are now; nothing is made for it."""
        digest = hashlib.sha256(repr(VERSION).encode())
        for file in files:
            status = os.stat(f"{root}/{file}")
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
        return cls(workspace.cache / FOLDERS, root.resolve(), digest.hexdigest()[:16])

    @property
    def place(self) -> str:
        """What the names of its files begin with."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:16]

    @property
    def note(self) -> Path:
        """The file that says which folder this is, and at which size its images are in this state."""
        return self.cache / f"{self.place}.json"

    def pixels_at(self, shape: Shape, seed: int) -> Path:
        """The file of all images at a shape, in the order of a split."""
        return self.cache / f"{self.place}-{self.state}-{'x'.join(map(str, shape))}-seed{seed}.npy"

    def common_shape(self) -> Shape | None:
        """The size (C, H, W) that all images of it were found to have; None where nobody looked, or it changed since."""
        try:
            known = json.loads(self.note.read_text(encoding="utf-8"))
            channels, height, width = known["shapes"][self.state]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return channels, height, width

    def read(self, shape: Shape, seed: int) -> np.ndarray | None:
        """The images uint8 (N, *shape), mapped from the disk; None where they are not kept."""
        try:
            return np.load(self.pixels_at(shape, seed), mmap_mode="r", allow_pickle=False)
        except (FileNotFoundError, ValueError, EOFError):
            return None

    def write(self, images: Iterator[np.ndarray], count: int, shape: Shape, seed: int, common: Shape | None) -> None:
        """Keep `count` images, uint8 (*shape) each, one at a time; those of another state, and of folders that are gone, are removed."""
        make_private_folder(self.cache)
        with written_atomically(self.pixels_at(shape, seed), "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (count, *shape)})
            for image in images:
                file.write(np.ascontiguousarray(image).tobytes())
        shapes = {} if common is None else {self.state: list(common)}
        write_text_atomically(self.note, json.dumps({"root": str(self.root), "shapes": shapes}))
        self._tidy()

    def _tidy(self) -> None:
        for path in self.cache.glob(f"{self.place}-*.npy"):
            if not path.name.startswith(f"{self.place}-{self.state}-"):
                path.unlink(missing_ok=True)
        for note in self.cache.glob("*.json"):
            if not Path(json.loads(note.read_text(encoding="utf-8"))["root"]).exists():
                for path in (*self.cache.glob(f"{note.stem}-*.npy"), note):
                    path.unlink(missing_ok=True)
