"""Whether a public dataset has the private records too: under another name or form, at the same place, or in files of the same bytes."""

import filecmp
import hashlib
import os
from pathlib import Path

from workbench import datasets
from workbench.datasets.base import DatasetFacts
from workbench.datasets.joined import JOIN
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.workspace import Workspace


def check_public_apart(public: str, private: DatasetRef | DatasetFacts, facts: DatasetFacts) -> None:
    """Refuse a public dataset, by name or path, of the same people's records as the private one, as far as names and files tell.

    `facts` are the private one's, whose name stands for it where no place is known. Of copies in another form the training itself,
    which compares the records, is the last to look.
    """
    if any(_has_records_of(part, private, facts) for part in datasets.parts_of(public)):
        raise WorkbenchError(
            f"Expected a public dataset other than the private one, got {public!r}, which has the same people's records as {facts.name!r}."
        )


def _has_records_of(public: str, private: DatasetRef | DatasetFacts, facts: DatasetFacts) -> bool:
    own = Path(private.path) if isinstance(private, DatasetRef) and private.path else None
    if not datasets.is_path(public):
        is_same = datasets.records_of(facts.name) == datasets.records_of(public)
        return is_same or (own is not None and any(same_place(own, place) for place in places_of(public)))
    return any(same_files(Path(public), place) for place in ([own] if own else places_of(facts.name)))


def places_of(name: str) -> list[Path]:
    """Where the files of all registered datasets with this one's records may lie in the data folder; none for any other name."""
    whose, root = datasets.records_of(name), Workspace.located().data
    entries = [entry for entry in datasets.DATASETS.values() if entry.records_of == whose]
    return [place for entry in entries for place in (root / whose, *entry.folders(root))]


def same_files(first: Path, second: Path) -> bool:
    """Whether two places are one or within one another, by whatever spelling or link, or hold the same files to the byte."""
    if same_place(first, second):
        return True
    first, second = (path.expanduser().resolve() for path in (first, second))
    return first.exists() and second.exists() and _are_copies(first, second)


def same_place(first: Path, second: Path) -> bool:
    """Whether two places are one or within one another, by whatever spelling or link."""
    first, second = (path.expanduser().resolve() for path in (first, second))
    if first.is_relative_to(second) or second.is_relative_to(first):
        return True
    return first.exists() and second.exists() and (_lies_in(first, second) or _lies_in(second, first))


def told_of(public: str) -> str:
    """What is told elsewhere of public images that have one's own files among them; empty where they have none."""
    parts = datasets.parts_of(public)
    return JOIN.join(named_by_content(Path(part)) if datasets.is_path(part) else part for part in parts) if has_own(public) else ""


def has_own(public: str) -> bool:
    """Whether there are one's own files among public images."""
    return any(datasets.is_path(part) for part in datasets.parts_of(public))


def named_by_content(place: Path) -> str:
    """The last name of a file or folder, and the beginning of the SHA-256 of what is in it: what is told of it elsewhere."""
    if not place.exists():
        return f"{place.name} (gone)"
    whole = hashlib.sha256()
    for path in sorted(path for path in (place, *place.rglob("*")) if path.is_file()):
        whole.update(path.relative_to(place).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{place.name} (SHA-256 {whole.hexdigest()[:16]})"


def state_of(public: str) -> str:
    """What changes whenever a file there does, by names, sizes and times alone; empty for a registered dataset."""
    places = [Path(part).expanduser() for part in datasets.parts_of(public) if datasets.is_path(part)]
    if not places:
        return ""
    digest = hashlib.sha256()
    for path in [path for place in places for path in ([str(place)] if place.is_file() else _files_below(place))]:
        status = os.stat(path)
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _files_below(folder: Path) -> list[str]:
    """The files in a folder and below it, sorted; as texts, since 50 000 of them are looked at whenever a page is drawn."""
    return sorted(path for root, _, files in os.walk(folder) for file in files if os.path.isfile(path := os.path.join(root, file)))


def _lies_in(inner: Path, outer: Path) -> bool:
    """Whether one place is the other or within it by what the file system says, whose names may differ in case or by a mount."""
    return any(place.samefile(outer) for place in (inner, *inner.parents))


def _are_copies(first: Path, second: Path) -> bool:
    """Files are read only where all names and sizes are equal, and only up to the first difference."""
    if first.is_file() and second.is_file():
        return filecmp.cmp(first, second, shallow=False)
    sizes = _sizes(first)
    return bool(sizes) and sizes == _sizes(second) and all(filecmp.cmp(first / name, second / name, shallow=False) for name in sizes)


def _sizes(folder: Path) -> dict[str, int]:
    """The size of every file in a folder by its place there."""
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}
