"""`cifar-10`: colour images of ten classes from its binary files, read from a folder or downloaded once."""

import tarfile
from pathlib import Path

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.download import fetch
from workbench.datasets.unpacking import check_unpacked
from workbench.errors import WorkbenchError
from workbench.files import written_atomically
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

NAME, ALIASES = "cifar-10", ("cifar-10-batches-bin", "CIFAR10", "cifar10")
SHAPE = (3, 32, 32)
RECORD_BYTES = 1 + 3 * 32 * 32  # a label, then the red, the green and the blue plane
TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
HELD_OUT = ("test_batch.bin",)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
NUM_RECORDS = 50_000
ARCHIVE, MD5 = "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"  # as its page gives it
MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)


def folders(root: Path) -> list[Path]:
    """Where the files may lie: a folder of the dataset's name in `root`, what the archive unpacks to in there, or `root` itself."""
    names = (NAME, *ALIASES)
    return [folder for name in names for folder in (root / name, root / name / ALIASES[0])] + ([root] if root.name in names else [])


def find(root: Path) -> Path | None:
    """The folder with all six binary files."""
    return next((folder for folder in folders(root) if all((folder / name).is_file() for name in (*TRAIN, *HELD_OUT))), None)


def is_local(workspace: Workspace) -> bool:
    """Whether the binary files or their archive are here, so that loading needs no network."""
    return find(workspace.data) is not None or (workspace.data / NAME / ARCHIVE).is_file()


def locate(root: Path) -> Path:
    """The folder with the binary files: as it lies there, else unpacked from the archive, which is downloaded if it is nowhere yet.

    Raises WorkbenchError where only the pickled files are there.
    """
    place = find(root)
    if place is not None:
        return place
    pickled = next((file for folder in pickled_folders(root) for file in (folder / "data_batch_1",) if file.is_file()), None)
    if pickled is not None:
        raise WorkbenchError(
            f"Expected CIFAR-10's binary files (data_batch_1.bin), got the pickled ones in {pickled.parent}, and unpickling can run any "
            f"code: put {ARCHIVE} into {root / NAME} in their place."
        )
    return unpack_archive(fetch(MIRRORS, ARCHIVE, MD5, root / NAME))


def pickled_folders(root: Path) -> list[Path]:
    """Where the pickled files may lie."""
    return [folder for place in (root, *folders(root)) for folder in (place, place / "cifar-10-batches-py")]


def unpack_archive(archive: Path) -> Path:
    """The six binary files of the archive, written beside it, the folder returned; nothing else in it is touched."""
    wanted = {*TRAIN, *HELD_OUT}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                name = Path(member.name).name
                if name not in wanted or not member.isfile():
                    continue
                check_unpacked(archive, archive.stat().st_size, member.size)
                source = tar.extractfile(member)
                assert source is not None
                with written_atomically(archive.parent / name, "wb") as file:
                    file.write(source.read())
                wanted.remove(name)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise WorkbenchError(f"Expected the archive of CIFAR-10's binary files in {archive}, got {error}; delete it.") from error
    if wanted:
        raise WorkbenchError(f"Expected {', '.join(sorted(wanted))} in {archive}, got an archive without; delete it.")
    return archive.parent


def count(folder: Path, names: tuple[str, ...]) -> int:
    """How many records the files hold, by their sizes; refuses sizes that are no number of records."""
    sizes = {name: (folder / name).stat().st_size for name in names}
    for name, size in sizes.items():
        if size % RECORD_BYTES or not size:
            raise WorkbenchError(f"Expected records of {RECORD_BYTES} bytes in {folder / name}, got {size} bytes; put the original there.")
    return sum(sizes.values()) // RECORD_BYTES


def facts(workspace: Workspace) -> DatasetFacts:
    """The facts that the files' sizes tell, or the published ones where the files are still to be downloaded."""
    folder = find(workspace.data)
    num_records = NUM_RECORDS if folder is None else count(folder, TRAIN)
    return DatasetFacts(name=NAME, kind=ImageKind(size=SHAPE), num_records=num_records, classes=CLASSES)


def read_split(folder: Path, names: tuple[str, ...]) -> Records:
    """Images uint8 (N, 3, 32, 32) and labels of some of the files, one after another."""
    count(folder, names)
    rows = np.concatenate([np.fromfile(folder / name, np.uint8).reshape(-1, RECORD_BYTES) for name in names])
    labels = rows[:, 0].astype(np.int64)
    if labels.max() >= len(CLASSES):
        raise WorkbenchError(f"Expected labels 0 to {len(CLASSES) - 1} in {folder}, got {labels.max()}; put the original files there.")
    return Records(np.ascontiguousarray(rows[:, 1:]).reshape(-1, *SHAPE), labels)


def load(workspace: Workspace) -> Dataset:
    """The five training files and the test file as training and held-out records."""
    folder = locate(workspace.data)
    train, held_out = read_split(folder, TRAIN), read_split(folder, HELD_OUT)
    return Dataset(facts(workspace), train, held_out)
