"""`imagenet`: pictures in folders as ImageNet has them, `train/n01440764/*.JPEG`, taken to be public; read from a folder, at any size.

dp-promise pre-trains on it for colour images. Its pictures show people too: that they may be used and shown freely is the user's word
who puts the folder there, as with any dataset that is named as public.
"""

from pathlib import Path

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.pictures import kept_pictures
from workbench.datasets.resize import check_shape
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

FOLDERS = ("imagenet", "ImageNet", "ILSVRC2012")
TRAIN, HELD_OUT = "train", "val"
SUFFIXES = frozenset({".jpeg", ".jpg", ".png"})
DEFAULT_SHAPE = (3, 64, 64)
SIDES = (8, 256)  # pixels
NUM_RECORDS, NUM_CLASSES = 1_281_167, 1000


def folders(root: Path) -> list[Path]:
    """Where the files may lie: a folder of the dataset's name in `root`, or `root` itself if it bears that name."""
    return [root / name for name in FOLDERS] + ([root] if root.name in FOLDERS else [])


def find(root: Path) -> Path | None:
    """The folder that has `train` and, in it, a folder a class."""
    return next((place for place in folders(root) if any(class_folders(place / TRAIN))), None)


def class_folders(split: Path) -> list[Path]:
    """The folders of the classes of a split, by name; none where there is no such split."""
    return sorted(path for path in split.iterdir() if path.is_dir() and not path.name.startswith(".")) if split.is_dir() else []


def is_local(workspace: Workspace) -> bool:
    """Whether its folders are here."""
    return find(workspace.data) is not None


def locate(root: Path) -> Path:
    """The folder with `train`; raises WorkbenchError where it is not there."""
    folder = find(root)
    if folder is None:
        raise WorkbenchError(
            f"Expected folders of pictures, one a class, in {root / FOLDERS[0] / TRAIN}, got none. ImageNet is given on request by its "
            "authors and not downloaded here: get it from them and set WORKBENCH_DATA to the folder above."
        )
    return folder


def files_of(split: Path, classes: tuple[str, ...]) -> tuple[list[Path], np.ndarray]:
    """The pictures of a split with the class of each, int64 (N,), by class, then by name."""
    listed = [sorted(file for file in (split / name).iterdir() if file.suffix.lower() in SUFFIXES) for name in classes]
    return [file for files in listed for file in files], np.repeat(np.arange(len(classes)), [len(files) for files in listed])


def facts(workspace: Workspace, shape: tuple[int, ...] = DEFAULT_SHAPE) -> DatasetFacts:
    """Number and classes by the names of its folders and files, or the published number and numbered classes where they are not here."""
    folder = find(workspace.data)
    classes = tuple(f"class {number}" for number in range(NUM_CLASSES))
    num_records = NUM_RECORDS
    if folder is not None:
        classes = tuple(path.name for path in class_folders(folder / TRAIN))
        num_records = len(files_of(folder / TRAIN, classes)[0])
    return DatasetFacts(
        name="imagenet", kind=ImageKind(size=check_shape(shape, *SIDES)), num_records=num_records, classes=classes, is_public=True
    )


def load(workspace: Workspace, shape: tuple[int, ...] | None = None, num_records: int | None = None, seed: int = 0) -> Dataset:
    """Pictures of `shape` (C, H, W), the middle of each: all of `train`, or `num_records` chosen by `seed`.

    Held out are those of `val` that lie in folders of the same classes, as ImageNet's own `val` does once it is sorted.
    """
    folder = locate(workspace.data)
    known = facts(workspace, shape or DEFAULT_SHAPE)
    size = check_shape(known.shape, *SIDES)
    count = known.num_records if num_records is None else num_records
    if not 1 <= count <= known.num_records:
        raise WorkbenchError(f"Expected 1 to {known.num_records} pictures of ImageNet, got {num_records}.")

    def records(split: Path, most: int | None) -> Records:
        present = tuple(path.name for path in class_folders(split) if path.name in known.classes)
        files, labels = files_of(split, present)
        chosen = np.arange(len(files)) if most is None else np.sort(np.random.default_rng(seed).permutation(len(files))[:most])
        if not len(chosen):
            return Records(np.zeros((0, *size), np.uint8), np.zeros(0, np.int64))
        positions = np.array([known.classes.index(name) for name in present], np.int64)
        return Records(kept_pictures([files[place] for place in chosen], size, workspace.cache, "imagenet"), positions[labels[chosen]])

    train, held_out = records(folder / TRAIN, num_records), records(folder / HELD_OUT, None)
    return Dataset(known.model_copy(update={"num_records": count}), train, held_out)
