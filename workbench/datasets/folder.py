"""The user's own images: a folder with a subfolder for each class, or with images alone, which then have no class.

`.npz` files are read by `arrays`, and both are chosen between here.

The names of subfolders and files are taken to be public. A file's name and the seed alone decide whether it is held out, so a record
whose image or class changes (its file changed, or moved to another subfolder under its name) moves no other, and the facts stay.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from workbench.datasets import arrays
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.kept_folder import KeptFolder
from workbench.datasets.naming import check_words
from workbench.datasets.resize import Shape, at_shape, check_shape, resize
from workbench.datasets.splits import check_splittable, position_split
from workbench.datasets.unpacking import check_unpacked
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})
CHANNELS = {"L": 1, "RGB": 3}
MOST_LISTED = 50
READABLE = "readable images, grey (L) or colour (RGB),"
Value = TypeVar("Value")


class UnusableError(Exception):
    """Why a file cannot be used, in a few words."""


@dataclass(frozen=True)
class ImageFolder:
    """The listing of a folder: its classes, and its files with the class of each, in the order of file names, then classes.

    Files are told by their places in the folder, as cat/1.png. Where there are no classes, no file has one.
    """

    root: Path
    classes: tuple[str, ...]
    files: tuple[str, ...]
    labels: np.ndarray | None  # int64 (N,)

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Sorted positions of training and held-out files; files of one name, in whatever classes, are on one side."""
        own = [file.rpartition("/")[2] for file in self.files]
        names = sorted(set(own))
        _, held_out = position_split(len(names), seed)
        chosen = {names[position] for position in held_out}
        is_held_out = np.array([name in chosen for name in own])
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def list_images(root: Path, declared: Sequence[str] = ()) -> ImageFolder:
    """The images of every class; every visible subfolder is a class, hidden files and other kinds are passed over.

    A folder without subfolders, of which no classes are `declared`, has images without a class.
    Errors, with all files that are wrong: no images, a class not among those `declared`, links that lead out of the folder.
    """
    subfolders = sorted((path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")), key=lambda path: path.name)
    refuse(root, [f"{path.name} leads to {os.path.realpath(path)}" for path in subfolders if leads_out(path, root)], LINKS)
    if not (subfolders or declared) and (alone := sorted(images_in(root, root))):
        check_splittable(len(alone), str(root), "images")
        return ImageFolder(root, (), tuple(alone), None)
    by_class = {subfolder.name: images_in(subfolder, root) for subfolder in subfolders}
    if not any(by_class.values()):
        raise WorkbenchError(
            f"Expected subfolders of images ({', '.join(sorted(SUFFIXES))}) in {root}, one a class, or images alone, which have no class "
            "then; found none. Put the images there."
        )
    refuse(root, [name for name, files in by_class.items() if not files], "images in every subfolder, as each is a class")
    classes = check_words(tuple(declared) or tuple(by_class), "class names")
    refuse(root, [name for name in by_class if name not in classes], f"subfolders of the classes {', '.join(classes)} alone")
    files = sorted((file, name) for name, members in by_class.items() for file in members)
    check_splittable(len({file for file, _ in files}), str(root), "images of different file names")
    labels = np.array([classes.index(name) for _, name in files], dtype=np.int64)
    return ImageFolder(root, classes, tuple(f"{name}/{file}" for file, name in files), labels)


LINKS = "no symbolic link that leads out of the folder"


def images_in(subfolder: Path, root: Path) -> list[str]:
    """The names of the files there that are named as images; links to what lies outside `root` are refused together."""
    with os.scandir(subfolder) as entries:
        images = [entry for entry in entries if os.path.splitext(entry.name)[1].lower() in SUFFIXES and not entry.name.startswith(".")]
    links = [Path(entry.path) for entry in images if entry.is_symlink()]
    wrong = [f"{link.relative_to(root)} leads to {os.path.realpath(link)}" for link in links if leads_out(link, root)]
    refuse(root, wrong, LINKS)
    return [entry.name for entry in images]


def leads_out(path: Path, root: Path) -> bool:
    """Whether a symbolic link ends outside the folder: what lies there was never put into the dataset."""
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def refuse(root: Path, wrong: Sequence[str], expected: str, remedy: str = "Mend these, or take them out.") -> None:
    """Refuse a folder for all that is wrong with it at once; nothing happens if nothing is."""
    if not wrong:
        return
    more = f"; and {len(wrong) - MOST_LISTED} more" if len(wrong) > MOST_LISTED else ""
    raise WorkbenchError(f"Expected {expected} in {root}, got {len(wrong)} that differ: {'; '.join(wrong[:MOST_LISTED])}{more}. {remedy}")


@contextmanager
def open_image(source: Path | BytesIO) -> Iterator[Image.Image]:
    """An image of mode L or RGB from a file or its content; whatever Pillow says against it is an `UnusableError` of a few words."""
    if isinstance(source, Path) and not source.is_file():
        raise UnusableError("is no file")
    try:
        with Image.open(source) as image:
            if image.mode not in CHANNELS:
                raise UnusableError(f"has mode {image.mode}, not grey (L) or colour (RGB)")
            yield image
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        said = str(error).replace(str(source), source.name) if isinstance(source, Path) else type(error).__name__
        raise UnusableError(f"cannot be read as an image ({said})") from error


def image_shape(path: Path) -> Shape:
    """(C, H, W) from the image's header."""
    with open_image(path) as image:
        return CHANNELS[image.mode], image.height, image.width


def image_pixels(source: Path | BytesIO) -> np.ndarray:
    """uint8 (C, H, W)."""
    with open_image(source) as image:
        values = np.asarray(image)  # (H, W) or (H, W, C)
    return values[None] if values.ndim == 2 else np.moveaxis(values, -1, 0)


def of_every(folder: ImageFolder, read: Callable[[Path], Value]) -> list[Value]:
    """`read` of every file; those that cannot be read are refused together."""
    values, wrong = [], []
    for file in folder.files:
        try:
            values.append(read(folder.root / file))
        except UnusableError as error:
            wrong.append(f"{file} {error}")
    refuse(folder.root, wrong, READABLE)
    return values


def common_shape(folder: ImageFolder, shape: Shape | None) -> Shape:
    """`shape`, or that of most images where all must agree, from their headers; refused is what would take too much memory."""
    shapes = of_every(folder, image_shape)
    (most, _), *others = Counter(shapes).most_common()
    if shape is None and others:
        text = ",".join(map(str, most))
        wrong = [f"{file} has {one}" for file, one in zip(folder.files, shapes, strict=True) if one != most]
        remedy = f"--resize {text} (on the pages: Resize to) reads all at one size; or take these out."
        refuse(folder.root, wrong, f"images of one size, {most} (C, H, W) as most,", remedy)
    shape = shape or most
    paths = [folder.root / file for file in folder.files]
    check_unpacked(folder.root, sum(path.stat().st_size for path in paths), len(shapes) * int(np.prod(shape)))
    largest, where = max(zip((int(np.prod(one)) for one in shapes), paths, strict=True))
    check_unpacked(where, where.stat().st_size, largest)
    return shape


def decoded_images(folder: ImageFolder, shape: Shape, order: np.ndarray) -> Iterator[np.ndarray]:
    """Images uint8 (*shape) in an order of positions, each resized by itself; those that cannot be read are refused together at the end."""
    wrong: list[str] = []
    for position in order:
        file = folder.files[position]
        try:
            yield resize(image_pixels(folder.root / file)[None], shape)[0]
        except UnusableError as error:
            wrong.append(f"{file} {error}")
    refuse(folder.root, wrong, READABLE)


def folder_facts(folder: ImageFolder, name: str, shape: Shape | None, seed: int, count: int, kept: KeptFolder) -> DatasetFacts:
    """Classes from the listing, `count` training records; the shape from what is kept, or from the images' headers."""
    if shape is None or kept.read(shape, seed) is None:
        shape = (kept.common_shape() if shape is None else None) or common_shape(folder, shape)
    return DatasetFacts(name=name, kind=ImageKind(size=shape), num_records=count, classes=folder.classes)


def load_folder(folder: ImageFolder, name: str, shape: Shape | None, seed: int, kept: KeptFolder) -> Dataset:
    """All images, split by their names: decoded at the first call, and mapped from the disk, training records first."""
    train, held_out = folder.split(seed)
    known = folder_facts(folder, name, shape, seed, len(train), kept)
    size = check_shape(known.shape)
    order = np.concatenate([train, held_out])
    images = kept.read(size, seed)
    if images is None:
        kept.write(decoded_images(folder, size, order), len(order), size, seed, size if shape is None else kept.common_shape())
        images = kept.read(size, seed)
    assert images is not None
    records = Records(images, None if folder.labels is None else folder.labels[order])
    return Dataset(known, records.take(slice(len(train))), records.take(slice(len(train), None)))


def facts(
    path: Path, name: str, shape: tuple[int, ...] | None = None, classes: Sequence[str] = (), seed: int = 0, *, workspace: Workspace
) -> DatasetFacts:
    """The facts about a folder or an `.npz` file under the name given to it, without its pixels."""
    target = None if shape is None else check_shape(shape)
    if checked_place(path).is_dir():
        folder = list_images(path, classes)
        count = len(folder.split(seed)[0])
        return folder_facts(folder, name, target, seed, count, KeptFolder.of(path, folder.files, workspace))
    known = arrays.describe(path, name, classes)[0]
    return known if target is None else known.at_size(target)


def load(
    path: Path, name: str, seed: int = 0, shape: tuple[int, ...] | None = None, classes: Sequence[str] = (), *, workspace: Workspace
) -> Dataset:
    """A folder or an `.npz` file at `shape`; a sixth is held out by `seed`, unless the file brings held-out records of its own."""
    if checked_place(path).is_dir():
        folder = list_images(path, classes)
        target = None if shape is None else check_shape(shape)
        return load_folder(folder, name, target, seed, KeptFolder.of(path, folder.files, workspace))
    return at_shape(arrays.load(path, name, seed, classes), shape)


def checked_place(path: Path) -> Path:
    """`path` if it is a folder or an `.npz` file."""
    if path.is_dir() or (path.is_file() and path.suffix == ".npz"):
        return path
    came = "another file" if path.is_file() else "nothing"
    raise WorkbenchError(f"Expected a folder of class subfolders, an .npz or a .csv file at {path}, found {came}; give the path of one.")
