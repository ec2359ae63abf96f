"""Step 1: records, labels and classes, bundled, downloaded, drawn, or from the user's own files."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.datasets import (
    adult,
    breast_cancer,
    celeba,
    cifar,
    csv_table,
    digits,
    faces,
    folder,
    glyphs,
    idx,
    imagenet,
    joined,
    patients,
    permuted,
    processes,
    validation,
)
from workbench.datasets.base import Dataset, DatasetFacts, to_uint8, to_unit_range
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.naming import default_name, own_name
from workbench.datasets.resize import at_shape, check_shape, parse_shape
from workbench.errors import WorkbenchError, choose
from workbench.records import Records
from workbench.workspace import Workspace

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
    "load_public",
    "reading",
    "records_of",
    "to_uint8",
    "to_unit_range",
]


@dataclass(frozen=True)
class DatasetEntry:
    """A named dataset: one sentence, whose records it has, its facts without its records, its records, and whether they are here.

    `facts` refuses a dataset of which only files that are not here tell how many records there are. `records_of` is the name of the
    dataset whose records these are, its own or that of another entry with the same people's: no entry is public beside another of the
    same, and runs on either are on one account of the ledger.
    `draw(workspace, shape, num_records, seed)` is for datasets made or read to order, shape and number None for their defaults;
    `sides` bounds height and width, `fewest` the number drawn, which `is_unlimited` where they are made; `is_fetched` is False where
    files that are not here are asked for and not downloaded. `public_companion` names a public dataset of the same
    classes: features that measures compare in come from it, for every method alike.
    """

    summary: str
    records_of: str
    facts: Callable[[Workspace], DatasetFacts]
    load: Callable[[Workspace], Dataset]
    is_local: Callable[[Workspace], bool] = lambda _workspace: True
    draw: Callable[[Workspace, tuple[int, ...] | None, int | None, int], Dataset] | None = None
    sides: tuple[int, int] = (1, 4096)
    fewest: int = 1
    is_unlimited: bool = False
    is_fetched: bool = True
    public_companion: str | None = None

    def known_facts(self, workspace: Workspace) -> DatasetFacts | None:
        """The facts; None where its files alone tell them, and are not here."""
        try:
            return self.facts(workspace)
        except WorkbenchError:
            if self.is_local(workspace):
                raise
            return None


def _drawn_faces(summary: str, records_of: str, family: faces.Family, public_companion: str | None = None) -> DatasetEntry:
    draw = partial(faces.load, family)
    return DatasetEntry(
        summary,
        records_of,
        lambda _: faces.facts(family),
        draw,
        draw=draw,
        sides=faces.SIDES,
        fewest=faces.FEWEST,
        is_unlimited=True,
        public_companion=public_companion,
    )


def _drawn_patients(summary: str, records_of: str, form: patients.Form) -> DatasetEntry:
    draw = partial(patients.load, form)
    return DatasetEntry(summary, records_of, lambda _: patients.facts(form), draw, draw=draw, fewest=patients.FEWEST, is_unlimited=True)


def _for_choosing(whole: DatasetEntry, fraction: float) -> DatasetEntry:
    return DatasetEntry(
        f"Training records alone, to choose settings: the last 1 in {1 / fraction:.0f} is held out, unprotected. {whole.summary}",
        whole.records_of,
        lambda workspace: validation.facts(whole.facts(workspace), fraction),
        lambda workspace: validation.split(whole.load(workspace), fraction),
        whole.is_local,
        public_companion=whole.public_companion,
    )


DATASETS: dict[str, DatasetEntry] = {
    "digits": DatasetEntry(
        "1 797 handwritten digits of 8x8 pixels, bundled with scikit-learn.",
        "digits",
        lambda _: digits.facts(),
        lambda _: digits.load(),
        public_companion="glyphs",
    ),
    "mnist": DatasetEntry(
        "70 000 handwritten digits of 28x28 pixels.",
        "mnist",
        partial(idx.facts, idx.MNIST),
        partial(idx.load, idx.MNIST),
        partial(idx.is_local, idx.MNIST),
        public_companion="glyphs",
    ),
    "fashion-mnist": DatasetEntry(
        "70 000 pictures of clothes of 28x28 pixels.",
        "fashion-mnist",
        partial(idx.facts, idx.FASHION_MNIST),
        partial(idx.load, idx.FASHION_MNIST),
        partial(idx.is_local, idx.FASHION_MNIST),
    ),
    "cifar-10": DatasetEntry("60 000 colour pictures of ten classes of 32x32 pixels.", "cifar-10", cifar.facts, cifar.load, cifar.is_local),
    "celeba": DatasetEntry(
        "182 732 faces with attributes, read at 64x64 pixels; its test part is held out.",
        "celeba",
        partial(celeba.facts, celeba.PARTED),
        partial(celeba.load, celeba.PARTED),
        celeba.is_local,
        is_fetched=False,
    ),
    "celeba-all": DatasetEntry(
        "All 202 599 faces of celeba as training records; nothing is held out.",
        "celeba",
        partial(celeba.facts, celeba.EVERYONE),
        partial(celeba.load, celeba.EVERYONE),
        celeba.is_local,
        is_fetched=False,
    ),
    "celeba-hair": DatasetEntry(
        "The faces of celeba with black, blond or brown hair, and with one of these alone: their class (DP-SAD's CelebA-H).",
        "celeba",
        partial(celeba.facts, celeba.BY_HAIR),
        partial(celeba.load, celeba.BY_HAIR),
        celeba.is_local,
        is_fetched=False,
    ),
    "faces": _drawn_faces(
        "Drawn faces of 20 people at any size from 16x16 to 64x64, with smile, glasses, hair, its length and identity: nobody's.",
        "faces",
        faces.FACES,
        public_companion="cartoons",
    ),
    "faces-70": _drawn_faces(
        "Drawn faces as those of faces, of whom 70 % do not smile.",
        "faces",
        faces.FACES_70,
        public_companion="cartoons",
    ),
    "faces-90": _drawn_faces(
        "Drawn faces as those of faces, of whom 90 % do not smile.",
        "faces",
        faces.FACES_90,
        public_companion="cartoons",
    ),
    "cartoons": _drawn_faces("Public faces with the same attributes in another style, flat and in ink.", "cartoons", faces.CARTOONS),
    "adult": DatasetEntry(
        "A table of 48 842 people of a census and whether they earn more than 50 000 dollars, in 12 columns; a third is held out.",
        "adult",
        adult.facts,
        adult.load,
        adult.is_local,
        is_fetched=False,
    ),
    "breast-cancer": DatasetEntry(
        "A table of 569 tumours, malignant or benign, in ten measures of their cells, bundled with scikit-learn.",
        "breast-cancer",
        lambda _: breast_cancer.FACTS,
        lambda _: breast_cancer.load(),
    ),
    "breast-cancer-fine": DatasetEntry(
        "The same tumours in 50 ranges a measure, among which methods release edges of their own (columns.quantile_ranges).",
        "breast-cancer",
        lambda _: breast_cancer.FINE,
        lambda _: breast_cancer.load(breast_cancer.FINE),
    ),
    "patients": _drawn_patients(
        "A drawn table of 2 000 patients, nobody's, in 8 columns; 20 of them are planted outliers.", "patients", patients.PATIENTS
    ),
    "patients-large": _drawn_patients(
        "50 000 such patients in 15 columns, 500 of them planted outliers.", "patients-large", patients.LARGE
    ),
    "glyphs": DatasetEntry(
        "Public images of digits at any size from 8x8 to 64x64, drawn by a seed from strokes and fonts.",
        "glyphs",
        lambda _: glyphs.facts(),
        glyphs.load,
        draw=glyphs.load,
        sides=glyphs.SIDES,
        fewest=glyphs.FEWEST,
        is_unlimited=True,
    ),
    "processes": DatasetEntry(
        "Public images of no things: leaves, fractals, noise, textures, solids and silhouettes at any size from 8x8 to 128x128.",
        "processes",
        lambda _: processes.facts(),
        processes.load,
        draw=processes.load,
        sides=processes.SIDES,
        fewest=processes.FEWEST,
        is_unlimited=True,
    ),
    "imagenet": DatasetEntry(
        "Pictures in ImageNet's folders, taken to be public, at any size from 8x8 to 256x256.",
        "imagenet",
        imagenet.facts,
        imagenet.load,
        imagenet.is_local,
        draw=imagenet.load,
        sides=imagenet.SIDES,
        is_fetched=False,
    ),
    "permuted-digits": DatasetEntry(
        "The digits with their pixels in one random order: as hard as they are for moments, and like nothing public.",
        "digits",
        lambda _: permuted.facts(),
        lambda _: permuted.load(),
    ),
}
DATASETS.update(
    {
        f"{name}-validation": _for_choosing(DATASETS[name], fraction)
        for name, fraction in {"digits": 1 / 5, "mnist": 1 / 12, "fashion-mnist": 1 / 12}.items()
    }
)


def is_path(name_or_path: str | Path) -> bool:
    """Whether this means the user's own files: a path object, or text that is no dataset's name and looks like a path or is one."""
    if isinstance(name_or_path, Path):
        return True
    if not name_or_path.strip():
        raise WorkbenchError("Expected a dataset's name or a path, got an empty text. `workbench datasets` lists the names.")
    return name_or_path not in DATASETS and (
        Path(name_or_path).exists() or name_or_path.endswith((".npz", csv_table.SUFFIX)) or "/" in name_or_path or "\\" in name_or_path
    )


def entry_of(name_or_path: str | Path) -> DatasetEntry:
    """The named entry, or one made for the user's own files, split with seed 0."""
    if is_path(name_or_path):
        return DatasetEntry(f"Images of {name_or_path}.", str(name_or_path), lambda _: facts(name_or_path), lambda _: load(name_or_path))
    if joined.JOIN in str(name_or_path):
        return joined_entry(str(name_or_path))
    return choose(str(name_or_path), DATASETS, "dataset")


def joined_entry(name: str) -> DatasetEntry:
    """Public datasets that are drawn to order, taken in turn: glyphs+processes."""
    names = name.split(joined.JOIN)
    entries = [choose(part, DATASETS, "dataset") for part in names]
    if len(set(names)) < len(names) or any(entry.draw is None or not entry.facts(Workspace.located()).is_public for entry in entries):
        raise WorkbenchError(f"Expected different public datasets that are drawn to order, joined by {joined.JOIN}, got {name!r}.")

    def draw(workspace: Workspace, shape: tuple[int, ...] | None, num_records: int | None, seed: int) -> Dataset:
        size = facts(name).shape if shape is None else shape
        count = facts(name).num_records if num_records is None else num_records
        each = -(-count // len(entries))
        return joined.dataset([entry.draw(workspace, size, each, seed) for entry in entries if entry.draw], count)

    return DatasetEntry(
        f"Images of {', '.join(names)} in turn.",
        name,
        lambda workspace: joined.facts([entry.facts(workspace) for entry in entries]),
        lambda workspace: draw(workspace, None, None, 0),
        draw=draw,
        sides=(max(entry.sides[0] for entry in entries), min(entry.sides[1] for entry in entries)),
        fewest=len(entries) * max(entry.fewest for entry in entries),
        is_unlimited=True,
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
            return checked_facts(csv_table.facts(path, own, declared, held_out), shape, classes)
        return folder.facts(path, own, shape, classes, seed, workspace=workspace or Workspace.located())
    entry = entry_of(name_or_path)
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


def reading(name: str | None, resize: str | None, classes: str | None) -> dict[str, Any]:
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
    if entry.draw is not None and known.is_public:
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
        raise WorkbenchError(f"Expected 1 to {known.num_records} public records, got {num_records}.")


def subset(records: Records, num_records: int | None, seed: int) -> Records:
    """`num_records` of the records, chosen by `seed`, in their order; all of them for None."""
    if num_records is None:
        return records
    if not 1 <= num_records <= len(records):
        raise WorkbenchError(f"Expected 1 to {len(records)} public records, got {num_records}.")
    return records.take(np.sort(np.random.default_rng(seed).permutation(len(records))[:num_records]))
