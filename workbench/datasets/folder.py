"""The user's own images: a folder with a subfolder for each class. `.npz` files are read by `arrays`, and both are chosen between here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from workbench.datasets import arrays
from workbench.datasets.base import Dataset, DatasetFacts, Records
from workbench.datasets.splits import check_splittable, held_out_count, stratified_split
from workbench.errors import WorkbenchError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})
CHANNELS = {"L": 1, "RGB": 3}


def image_files(root: Path) -> dict[str, list[Path]]:
    """The images of every class, classes and files in the order of their names; hidden files and other kinds are passed over."""
    found = {}
    for subfolder in sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = [file for file in subfolder.iterdir() if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")]
        if files:
            found[subfolder.name] = sorted(files)
    if not found:
        raise WorkbenchError(
            f"Expected subfolders of images ({', '.join(sorted(SUFFIXES))}) in {root}, one a class, found none; put the images there."
        )
    check_splittable({name: len(files) for name, files in found.items()}, str(root))
    return found


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """An image of mode L or RGB; whatever Pillow says against it is an error of one sentence."""
    try:
        with Image.open(path) as image:
            if image.mode in CHANNELS:
                yield image
                return
            mode = image.mode
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise WorkbenchError(f"Expected a readable image in {path}, got {error}; repair it or take it out.") from error
    raise WorkbenchError(f"Expected a grey (L) or colour (RGB) image in {path}, got mode {mode}; convert it.")


def image_shape(path: Path) -> tuple[int, int, int]:
    """(C, H, W) from the image's header."""
    with opened(path) as image:
        return CHANNELS[image.mode], image.height, image.width


def image_pixels(path: Path) -> np.ndarray:
    """uint8 (C, H, W)."""
    with opened(path) as image:
        values = np.asarray(image)  # (H, W) or (H, W, C)
    return values[None] if values.ndim == 2 else np.moveaxis(values, -1, 0)


def read_images(files: list[Path]) -> np.ndarray:
    """Images uint8 (N, C, H, W), all of the first one's size and mode."""
    expected = image_shape(files[0])
    images = np.empty((len(files), *expected), dtype=np.uint8)
    for position, path in enumerate(files):
        pixels = image_pixels(path)
        if pixels.shape != expected:
            came = f"got {pixels.shape} in {path}"
            raise WorkbenchError(f"Expected images of one size, {expected} (C, H, W) as {files[0].name}, {came}; resize or convert it.")
        images[position] = pixels
    return images


def folder_facts(root: Path) -> DatasetFacts:
    """Counts from the folder's listing, the shape from its first image's header."""
    files = image_files(root)
    counts = [len(paths) - held_out_count(len(paths)) for paths in files.values()]
    first = next(iter(files.values()))[0]
    return DatasetFacts(name=root.resolve().stem, num_records=sum(counts), shape=image_shape(first), classes=tuple(files))


def load_folder(root: Path, seed: int) -> Dataset:
    """All images, split by `stratified_split`."""
    files = image_files(root)
    labels = np.repeat(np.arange(len(files), dtype=np.int64), [len(paths) for paths in files.values()])
    records = Records(read_images([path for paths in files.values() for path in paths]), labels)
    train, held_out = stratified_split(labels, seed)
    return Dataset(folder_facts(root), records.take(train), records.take(held_out))


def facts(path: Path) -> DatasetFacts:
    """The facts about a folder or an `.npz` file, without its pixels; its name is the path's stem."""
    return arrays.facts(path) if checked(path).is_file() else folder_facts(path)


def load(path: Path, seed: int = 0) -> Dataset:
    """A folder or an `.npz` file; a sixth of each class is held out by `seed`, unless the file brings held-out records of its own."""
    return arrays.load(path, seed) if checked(path).is_file() else load_folder(path, seed)


def checked(path: Path) -> Path:
    """`path` if it is a folder or an `.npz` file."""
    if path.is_dir() or (path.is_file() and path.suffix == ".npz"):
        return path
    came = "another file" if path.is_file() else "nothing"
    raise WorkbenchError(f"Expected a folder of class subfolders or an .npz file at {path}, found {came}; give the path of one.")
