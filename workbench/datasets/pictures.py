"""Many picture files at one size: decoded once, kept as uint8 on the disk, and read from there record by record."""

import hashlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm import tqdm

from workbench.datasets.resize import Shape
from workbench.errors import WorkbenchError
from workbench.files import make_private_folder, written_atomically

VERSION = 1  # of the way pictures are cut and resized: in the name of a kept file
MODES = {1: "L", 3: "RGB"}


def picture(source: Path | BytesIO, shape: Shape) -> np.ndarray:
    """uint8 (C, H, W): the largest part around the centre that has the shape's aspect, its areas averaged; luma where C is 1."""
    channels, height, width = shape
    try:
        with Image.open(source) as image:
            across, down = min(image.width, image.height * width / height), min(image.height, image.width * height / width)
            left, top = (image.width - across) / 2, (image.height - down) / 2
            box = (left, top, left + across, top + down)
            part = image.convert(MODES[channels]).resize((width, height), Image.Resampling.BOX, box)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise WorkbenchError(f"Expected a picture in {source}, got {error}; put the original in its place.") from error
    values = np.asarray(part)
    return values[None] if channels == 1 else np.moveaxis(values, -1, 0)


def identity(files: Sequence[Path], shape: Shape) -> str:
    """32 hex digits that differ where a file has another name, size or time of change, or the pictures another size."""
    digest = hashlib.sha256(repr((VERSION, shape)).encode())
    for file in files:
        status = file.stat()
        digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:32]


def kept_pictures(files: Sequence[Path], shape: Shape, folder: Path, name: str) -> np.ndarray:
    """Pictures uint8 (N, *shape) of the files in their order, mapped from a file in `folder` that is made at the first call.

    Decoding takes about a millisecond a picture. No more of them is in memory than is looked at.
    """
    path = folder / f"{name}-{identity(files, shape)}.npy"
    if not path.is_file():
        make_private_folder(folder)
        with written_atomically(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (len(files), *shape)})
            for source in tqdm(files, desc=f"{name} pictures"):
                file.write(np.ascontiguousarray(picture(source, shape)).tobytes())
    return np.load(path, mmap_mode="r", allow_pickle=False)
