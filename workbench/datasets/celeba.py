"""`celeba`: 202 599 aligned faces with attributes, split by their own partition file; read from a folder, and never downloaded.

`celeba-all` is the same with every image among the training records, as papers have it whose n is 202 599; then nothing is held out.
`celeba-hair` is DP-SAD's CelebA-H: the faces of exactly one of three hair colours, which is their class.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.pictures import kept_pictures
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

FOLDERS = ("celeba", "CelebA")
PARTITION, ATTRIBUTES, IMAGES = "list_eval_partition.txt", "list_attr_celeba.txt", "img_align_celeba"
TRAINING, VALIDATION, TEST = 0, 1, 2  # in the partition file
SHAPE = (3, 64, 64)
HAIR = ("Black_Hair", "Blond_Hair", "Brown_Hair")
VALUES = {"hair": ("black", "blond", "brown", "other"), "gender": ("female", "male"), "smile": ("no", "yes")}
COLUMNS = {"gender": "Male", "smile": "Smiling"}


@dataclass(frozen=True)
class Faces:
    """A way to split the faces: which parts of the partition file train and are held out, and how many train, as published.

    `by_hair`: only those of one hair colour, which is their class. How many these are, the files alone tell: `num_records` is None.
    """

    name: str
    train: tuple[int, ...]
    held_out: tuple[int, ...]
    num_records: int | None
    by_hair: bool = False


PARTED = Faces("celeba", (TRAINING,), (TEST,), 162_770)
EVERYONE = Faces("celeba-all", (TRAINING, VALIDATION, TEST), (), 202_599)
BY_HAIR = Faces("celeba-hair", (TRAINING,), (TEST,), None, by_hair=True)


def folders(root: Path) -> list[Path]:
    """Where the files may lie: a folder of the dataset's name in `root`, or `root` itself if it bears that name."""
    return [root / name for name in FOLDERS] + ([root] if root.name in FOLDERS else [])


def find(root: Path) -> Path | None:
    """The folder with the two lists and the images."""
    return next((place for place in folders(root) if all((place / name).exists() for name in (PARTITION, ATTRIBUTES, IMAGES))), None)


def is_local(workspace: Workspace) -> bool:
    """Whether the lists and the images are here."""
    return find(workspace.data) is not None


def locate(root: Path) -> Path:
    """The folder with the lists and the images; raises WorkbenchError where it is not there."""
    folder = find(root)
    if folder is None:
        raise WorkbenchError(
            f"Expected {PARTITION}, {ATTRIBUTES} and the folder {IMAGES} in {root / FOLDERS[0]}, got none or some of them. CelebA is given "
            "for research by its authors and not downloaded here: get it from them and set WORKBENCH_DATA to the folder above."
        )
    return folder


def read_partition(folder: Path) -> dict[str, int]:
    """The part of each image by its file name, in the file's order; refuses a line of another form."""
    path = folder / PARTITION
    parts: dict[str, int] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match line.split():
            case [name, ("0" | "1" | "2") as part] if Path(name).name == name:
                parts[name] = int(part)
            case []:
                continue
            case _:
                raise WorkbenchError(
                    f"Expected a file name and 0, 1 or 2 in line {number} of {path}, got {line[:80]!r}; put the original there."
                )
    return parts


def read_attributes(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The attributes of the images called `names`, numbers int64 (N,) into VALUES.

    Hair is black, blond or brown where the file says exactly one of them, else other. Refuses a file that leaves an image out.
    """
    path = folder / ATTRIBUTES
    lines = path.read_text().splitlines()
    columns = lines[1].split() if len(lines) > 1 else []
    if missing := [name for name in (*HAIR, *COLUMNS.values()) if name not in columns]:
        raise WorkbenchError(f"Expected the columns {', '.join(missing)} in the second line of {path}, got none; put the original there.")
    rows = {name: values for name, *values in map(str.split, filter(None, lines[2:]))}
    if wrong := [name for name in names if len(rows.get(name, ())) != len(columns) or not {*rows[name]} <= {"1", "-1"}]:
        raise WorkbenchError(f"Expected {len(columns)} values, each 1 or -1, of {wrong[0]} in {path}; put the original there.")
    table = np.array([rows[name] for name in names]).reshape(len(names), len(columns)) == "1"
    hair = table[:, [columns.index(name) for name in HAIR]]
    attributes = {"hair": np.where(hair.sum(axis=1) == 1, hair.argmax(axis=1), len(HAIR))}
    return {
        name: values.astype(np.int64) for name, values in (attributes | {n: table[:, columns.index(c)] for n, c in COLUMNS.items()}).items()
    }


def facts(faces: Faces, workspace: Workspace) -> DatasetFacts:
    """The facts that the two lists tell, or the published ones where they are not here; refused where none are published."""
    folder = locate(workspace.data) if faces.num_records is None else find(workspace.data)
    num_records = len(members(folder, faces.train, faces.by_hair)) if folder is not None else faces.num_records
    assert num_records is not None
    known = DatasetFacts(name=faces.name, kind=ImageKind(size=SHAPE), num_records=num_records, attributes=VALUES)
    return _of_three_colours(known) if faces.by_hair else known


def _of_three_colours(known: DatasetFacts) -> DatasetFacts:
    """The facts where hair is one of three colours, and the class."""
    three = known.attributes["hair"][: len(HAIR)]
    return known.model_copy(update={"attributes": known.attributes | {"hair": three}}).labelled_by("hair")


def members(folder: Path, parts: tuple[int, ...], by_hair: bool = False) -> list[str]:
    """The names of the images in some parts, in the partition file's order; `by_hair`, only those of exactly one of three colours."""
    names = [name for name, part in _partition(folder, (folder / PARTITION).stat().st_mtime_ns).items() if part in parts]
    if not by_hair or not names:
        return names
    return [name for name, hair in zip(names, read_attributes(folder, names)["hair"], strict=True) if hair < len(HAIR)]


@cache
def _partition(folder: Path, _changed: int) -> dict[str, int]:
    return read_partition(folder)


def read_split(folder: Path, parts: tuple[int, ...], kept: Path, by_hair: bool = False) -> Records:
    """Faces uint8 (N, 3, 64, 64): the middle 178x178 of the 178x218 pixels, averaged; with their attributes and no label.

    `by_hair`: those of one colour alone, which is their label.
    """
    names = members(folder, parts, by_hair)
    if not names:
        records = Records(np.zeros((0, *SHAPE), np.uint8), None, {name: np.zeros(0, np.int64) for name in VALUES})
    else:
        images = kept_pictures([folder / IMAGES / name for name in names], SHAPE, kept, "celeba")
        records = Records(images, None, read_attributes(folder, names))
    if not by_hair:
        return records
    others = {name: values for name, values in records.attributes.items() if name != "hair"}
    return Records(records.records, records.attributes["hair"], others)


def load(faces: Faces, workspace: Workspace) -> Dataset:
    """The parts that train and those held out; pictures are kept as uint8 in the workspace's cache and mapped from there."""
    folder = locate(workspace.data)
    train, held_out = (read_split(folder, parts, workspace.cache, faces.by_hair) for parts in (faces.train, faces.held_out))
    return Dataset(facts(faces, workspace), train, held_out)
