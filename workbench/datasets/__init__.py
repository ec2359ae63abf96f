"""Step 1: records, labels and classes, bundled, downloaded, drawn, or from the user's own files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.datasets import csv_table, folder, joined
from workbench.datasets.base import Dataset, DatasetFacts, to_uint8, to_unit_range
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.naming import default_name, own_name
from workbench.datasets.registry import DATASETS, DatasetEntry
from workbench.datasets.resize import at_shape, check_shape, parse_shape
from workbench.errors import WorkbenchError, choose
from workbench.records import Records
from workbench.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

    from workbench.datasets.frames import ArrowStream

__all__ = [
    "DATASETS",
    "Dataset",
    "DatasetEntry",
    "DatasetFacts",
    "account_name",
    "check_public",
    "facts",
    "load",
    "load_as",
    "load_frame",
    "load_public",
    "reading_arguments",
    "records_of",
    "to_uint8",
    "to_unit_range",
]


def is_path(name_or_path: str | Path) -> bool:
    """Whether this means the user's own files: a path object, or text that is no dataset's name and looks like a path or is one."""
    if isinstance(name_or_path, Path):
        return True
    if not name_or_path.strip():
        raise WorkbenchError("Expected a dataset's name or a path, got an empty text. `workbench datasets` lists the names.")
    return (
        name_or_path not in DATASETS
        and len(parts_of(name_or_path)) == 1
        and (
            Path(name_or_path).exists() or name_or_path.endswith((".npz", csv_table.SUFFIX)) or "/" in name_or_path or "\\" in name_or_path
        )
    )


def parts_of(name: str) -> list[str]:
    """The datasets that a name joins, each a registered name or a path at which something lies; of any other text itself alone."""
    parts = name.split(joined.JOIN)
    each_is_there = all(part in DATASETS or (part.strip() and Path(part).exists()) for part in parts)
    return parts if each_is_there and not Path(name).exists() else [name]


def absolute_name(name: str) -> str:
    """The name with the paths in it from the root, as what reads it begins in another folder."""
    return joined.JOIN.join(str(Path(part).expanduser().resolve()) if is_path(part) else part for part in parts_of(name))


def entry_of(name_or_path: str | Path) -> DatasetEntry:
    """The named entry, or one made for the user's own files, split with seed 0."""
    if is_path(name_or_path):
        return DatasetEntry(f"Images of {name_or_path}.", str(name_or_path), lambda _: facts(name_or_path), lambda _: load(name_or_path))
    if joined.JOIN in str(name_or_path):
        return joined_entry(str(name_or_path))
    return choose(str(name_or_path), DATASETS, "dataset")


def joined_entry(name: str) -> DatasetEntry:
    """Public datasets that are drawn to order, and folders of one's own that are declared public, in turn: glyphs+processes."""
    names = name.split(joined.JOIN)
    own = [part for part in names if part not in DATASETS and is_path(part)]
    entries = [choose(part, DATASETS, "dataset") for part in names if part not in own]
    if len(set(names)) < len(names) or any(entry.draw is None or not entry.facts(Workspace.located()).is_public for entry in entries):
        raise WorkbenchError(
            f"Expected different public datasets that are drawn to order, or paths, joined by {joined.JOIN}, got {name!r}."
        )

    def draw(workspace: Workspace, shape: tuple[int, ...] | None, num_records: int | None, seed: int) -> Dataset:
        size = facts(name).shape if shape is None else shape
        count = facts(name).num_records if num_records is None else num_records
        each = -(-count // len(names))
        return joined.dataset([load_public(part, size, each, seed, part in own, workspace) for part in names], count)

    return DatasetEntry(
        f"Images of {', '.join(names)} in turn.",
        name,
        lambda workspace: joined.facts([facts(part, workspace=workspace) for part in names]),
        lambda workspace: draw(workspace, None, None, 0),
        draw=draw,
        sides=(max((entry.sides[0] for entry in entries), default=1), min((entry.sides[1] for entry in entries), default=4096)),
        fewest=len(names) * max((entry.fewest for entry in entries), default=1),
        is_unlimited=not own,
    )


def account_name(name_or_path: str | Path) -> str:
    """The name that a dataset's account in the ledger goes by where none was given: whose records it has, else the file's own."""
    is_own = is_path(name_or_path) or (str(name_or_path) not in DATASETS and Path(name_or_path).is_absolute())
    return default_name(name_or_path, DATASETS) if is_own else records_of(str(name_or_path))


def records_of(name: str) -> str:
    """Whose records a dataset of this name has: of a registered one what its entry says, of one's own files their own name."""
    return DATASETS[name].records_of if name in DATASETS else name


def facts(
    name_or_path: str | Path,
    shape: tuple[int, ...] | None = None,
    seed: int = 0,
    *,
    name: str | None = None,
    classes: Sequence[str] = (),
    declared: TableDeclaration | None = None,
    held_out: Path | None = None,
    workspace: Workspace | None = None,
) -> DatasetFacts:
    """The public facts about a dataset as `load` with the same arguments would give it, from literals and headers where they say enough."""
    if is_path(name_or_path):
        path = Path(name_or_path)
        own = own_name(path, name, DATASETS)
        if is_csv(path):
            return checked_facts(csv_table.facts(path, own, declared, held_out, seed), shape, classes)
        return folder.facts(path, own, shape, classes, seed, workspace=workspace or Workspace.located())
    entry = entry_of(name_or_path)
    if len(parts := parts_of(str(name_or_path))) > 1:
        return as_declared(joined.facts([facts(part, shape, seed, workspace=workspace) for part in parts]), name, classes)
    known = as_declared(entry.facts(workspace or Workspace.located()), name, classes)
    return known if shape is None else known.at_size(check_shape(shape, *entry.sides))


def load(
    name_or_path: str | Path,
    shape: tuple[int, ...] | None = None,
    seed: int = 0,
    *,
    name: str | None = None,
    classes: Sequence[str] = (),
    declared: TableDeclaration | None = None,
    held_out: Path | None = None,
    workspace: Workspace | None = None,
) -> Dataset:
    """A dataset by name, or from a folder of class subfolders, an `.npz` file or a `.csv` one.

    `shape` (C, H, W) resizes its images; glyphs, processes and faces are drawn at it. `seed` splits the user's own files and draws those;
    the others have fixed splits. `name`, `classes` and `declared` declare what is public of the user's own files: the name that their
    account in the ledger goes by (default: the file's own), the classes' names (default: those in the file, or of the subfolders),
    and the columns of a table (default: what stands beside it as NAME.declared.json). `held_out` is a table of the same columns whose
    rows are held out (default: a sixth of the table's own). Downloads and drawings are kept in
    `workspace`, by default the default one.
    """
    if is_path(name_or_path):
        path = Path(name_or_path)
        own = own_name(path, name, DATASETS)
        if not is_csv(path):
            return folder.load(path, own, seed, shape, classes, workspace=workspace or Workspace.default())
        dataset = csv_table.load(path, own, declared, seed, held_out)
        checked_facts(dataset.facts, shape, classes)
        return dataset
    entry, workspace = entry_of(name_or_path), workspace or Workspace.default()
    as_declared(entry.facts(workspace), name, classes)
    return at_shape(entry.load(workspace), shape) if entry.draw is None else entry.draw(workspace, shape, None, seed)


def is_csv(path: Path) -> bool:
    """Whether this is the user's own table."""
    return path.suffix == csv_table.SUFFIX and not path.is_dir()


def checked_facts(known: DatasetFacts, shape: tuple[int, ...] | None, classes: Sequence[str]) -> DatasetFacts:
    """The facts about a table, whose shape and classes are those declared."""
    if shape not in (None, known.shape) or (classes and tuple(classes) != known.classes):
        raise WorkbenchError(f"Expected the columns and classes of {known.name} from its declaration alone. Leave size and classes out.")
    return known


def load_as(
    name_or_path: str | Path,
    known: DatasetFacts,
    seed: int = 0,
    workspace: Workspace | None = None,
    declared: TableDeclaration | None = None,
    held_out: Path | None = None,
) -> Dataset:
    """A dataset read as `known` says: under its name, with its classes and at its shape, whatever these were when it was planned."""
    named = {"name": known.name, "classes": known.classes, "declared": declared, "held_out": held_out}
    return load(name_or_path, known.shape, seed, **named, workspace=workspace)


def load_frame(frame: "pd.DataFrame | ArrowStream", declared: TableDeclaration, name: str, seed: int = 0) -> Dataset:
    """Rows that Python has already: a frame of pandas, Polars or Arrow, read as if it came from a CSV file.

    `declared` says what is public of its columns, `name` is that of its account in the ledger; `seed` chooses who is held out, a sixth.
    """
    return csv_table.of_frame(frame, declared, own_name(Path(name), name, DATASETS), seed)


def reading_arguments(name: str | None, resize: str | None, classes: str | None) -> dict[str, Any]:
    """The arguments of `facts` and `load` from texts: a name, `C,H,W`, and class names between commas (or as a JSON list)."""
    return {"name": name or None, "shape": parse_shape(resize) if resize else None, "classes": class_list(classes) if classes else ()}


def class_list(text: str) -> tuple[str, ...]:
    """Class names between commas, or as a JSON list, in which a name may have a comma of its own."""
    if not text.startswith("["):
        return tuple(part.strip() for part in text.split(","))
    try:
        names = json.loads(text)
    except json.JSONDecodeError:
        names = None
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise WorkbenchError(f'Expected class names between commas, or a JSON list of them as ["cat", "dog"], got {text!r}.')
    return tuple(names)


def as_declared(known: DatasetFacts, name: str | None, classes: Sequence[str]) -> DatasetFacts:
    """The facts about a registered dataset, whose name and classes are its own."""
    if name not in (None, known.name) or (classes and tuple(classes) != known.classes):
        raise WorkbenchError(f"Expected {known.name} under its own name and with its own classes; only files of your own are given others.")
    return known


def load_public(
    name: str | Path,
    shape: tuple[int, ...],
    num_records: int | None = None,
    seed: int = 0,
    declared_public: bool = False,
    workspace: Workspace | None = None,
) -> Dataset:
    """A public dataset with images of `shape` (C, H, W), for pre-training without privacy cost; `num_records` of them, all by default.

    Only `glyphs`, `processes`, `cartoons` and `imagenet` are public by themselves. For any other, `declared_public=True` is the caller's
    word that its records may be used and shown freely (dp-promise takes Fashion-MNIST to be public when MNIST is private); the facts then
    say so, and no guarantee covers these records.
    """
    workspace = workspace or Workspace.default()
    entry, known = entry_of(name), facts(name, shape, workspace=workspace)
    if entry.draw is not None and (known.is_public or (declared_public and len(parts_of(str(name))) > 1)):
        return entry.draw(workspace, shape, num_records, seed)
    if not (known.is_public or declared_public):
        raise WorkbenchError(
            f"Expected a public dataset, got {known.name!r}; choose glyphs or processes, or declare this public if its records need no "
            "protection."
        )
    dataset = load(name, shape, seed, workspace=workspace)
    kept = subset(dataset.train, num_records, seed)
    return Dataset(dataset.facts.model_copy(update={"num_records": len(kept), "is_public": True}), kept, dataset.held_out)


def check_known(name: str) -> None:
    """Refuse a dataset that neither has a registered name nor is a path at which something lies."""
    if not is_path(name):
        entry_of(name)
    elif not Path(name).exists():
        raise WorkbenchError(f"Expected a dataset's name or a path that exists, got {name!r}.")


def is_public(name: str) -> bool:
    """Whether a registered dataset, or several that are joined, is public by itself; what only files that are not here tell of is not."""
    known = entry_of(name).known_facts(Workspace.located())
    return known is not None and known.is_public


def check_public(name: str | Path, shape: tuple[int, ...], num_records: int | None, workspace: Workspace) -> None:
    """Refuse what `load_public` could not give, without making a record."""
    entry, known = entry_of(name), facts(name, shape, workspace=workspace)
    if not (entry.is_fetched or entry.is_local(workspace)):
        entry.load(workspace)  # says what is missing, and where
    if num_records is None:
        return
    if num_records < entry.fewest:
        raise WorkbenchError(f"Expected at least {entry.fewest} public records of {known.name}, got {num_records}.")
    if not entry.is_unlimited and num_records > known.num_records:
        each = f" of {known.name} in equal shares" if len(parts_of(str(name))) > 1 else ""
        raise WorkbenchError(f"Expected 1 to {known.num_records} public records{each}, got {num_records}.")


def subset(records: Records, num_records: int | None, seed: int) -> Records:
    """`num_records` of the records, chosen by `seed`, in their order; all of them for None."""
    if num_records is None:
        return records
    if not 1 <= num_records <= len(records):
        raise WorkbenchError(f"Expected 1 to {len(records)} public records, got {num_records}.")
    return records.take(np.sort(np.random.default_rng(seed).permutation(len(records))[:num_records]))
