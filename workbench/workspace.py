"""One place of runs: where everything lies that an installation keeps, handed to whatever reads or writes it there."""

import hashlib
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import PRIVATE_FOLDER, READ_ONLY, is_read_only, make_private_folder

FOLDERS = frozenset({"app", "attacks", "cache", "imports", "jobs", "runs", "sweeps"})
KEY = "installation.key"
MARKS = frozenset({READ_ONLY, KEY, "ledger.sqlite", "runs.sqlite", "verdicts.sqlite"})
OTHERS = stat.S_IRWXG | stat.S_IRWXO
KEY_BYTES = 32

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Workspace:
    """Paths in a home, its owner's alone, and the folder of datasets; `open` or `default` makes one that is sure to be there.

    Several can be open in one process. Only the edges (pages, command line, notebooks, a process's `main`) ask for the default one;
    everything else is handed the workspace that it works in.
    """

    home: Path
    data: Path

    @classmethod
    def default(cls) -> Self:
        """The one of `WORKBENCH_HOME`, or `.dp-diffusion-workbench` in the user's home; datasets in `WORKBENCH_DATA`, or its `data`."""
        located = cls.located()
        return cls.open(located.home, located.data)

    @classmethod
    def located(cls) -> Self:
        """The default one where nothing is written or read but datasets: a plan asks for no home, and makes none."""
        home = Path(os.environ.get("WORKBENCH_HOME") or Path.home() / ".dp-diffusion-workbench")
        return cls(home, Path(os.environ.get("WORKBENCH_DATA") or home / "data"))

    @classmethod
    def open(cls, home: Path, data: Path | None = None) -> Self:
        """The workspace in folder `home`, made if it is not there; its datasets lie in `data`, or in its own folder of that name.

        A folder that other accounts could read, as a copy or an unpacked archive may be, is closed to them with all that is in it.
        """
        try:
            make_private_folder(home)
            home.mkdir(exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise WorkbenchError(
                f"Expected a folder, or room for one, at {home}, got a file. Set WORKBENCH_HOME to another place."
            ) from None
        except OSError as error:
            raise WorkbenchError(
                f"Expected a folder that can be read, or room for one, got: {error}. Set WORKBENCH_HOME to another place."
            ) from None
        if is_read_only(home):
            return cls(home, data or home / "data")
        close_to_others(home.resolve())  # a link to it has rights of its own, which say nothing
        return cls(home, data or home / "data")

    @property
    def environment(self) -> dict[str, str]:
        """What makes this the default workspace of a process."""
        return {"WORKBENCH_HOME": str(self.home.absolute()), "WORKBENCH_DATA": str(self.data.absolute())}

    @property
    def registry(self) -> Path:
        """The SQLite file of runs and other jobs."""
        return self.home / "runs.sqlite"

    @property
    def ledger(self) -> Path:
        """The SQLite file of what has been spent."""
        return self.home / "ledger.sqlite"

    @property
    def verdicts(self) -> Path:
        """The SQLite file of verdicts on samples."""
        return self.home / "verdicts.sqlite"

    @property
    def runs(self) -> Path:
        """The folder of the runs' folders."""
        return self.home / "runs"

    @property
    def jobs(self) -> Path:
        """The folder of the other jobs' logs."""
        return self.home / "jobs"

    @property
    def imports(self) -> Path:
        """The folder of samples made elsewhere."""
        return self.home / "imports"

    @property
    def sweeps(self) -> Path:
        """The folder of the sweeps' folders."""
        return self.home / "sweeps"

    @property
    def attacks(self) -> Path:
        """The folder of attacks on papers' claims that were made here."""
        return self.home / "attacks"

    @property
    def cache(self) -> Path:
        """The folder of what can be computed again: drawings, paces, ceilings, classifiers."""
        return self._written / "cache"

    @property
    def app(self) -> Path:
        """The folder of the addresses at which the pages are open."""
        return self._written / "app"

    @property
    def is_read_only(self) -> bool:
        """Whether nothing is to be written in the home."""
        return is_read_only(self.home)

    @property
    def _written(self) -> Path:
        """Where what nobody misses is written: the home, or a folder of the user's own where that is read-only."""
        if not self.is_read_only:
            return self.home
        name = hashlib.sha256(str(self.home.resolve()).encode()).hexdigest()[:16]
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dp-diffusion-workbench" / name

    @property
    def key(self) -> bytes:
        """32 random bytes made once; fingerprints keyed with them cannot be compared across installations."""
        path = self.home / KEY
        try:
            key = path.read_bytes() if path.exists() else _new_key(path)
        except OSError as error:
            raise WorkbenchError(
                f"Expected to read the key of this installation from {path}: {error}. Make it readable for you."
            ) from error
        if len(key) != KEY_BYTES:
            raise DamagedFileError(
                f"Expected {KEY_BYTES} bytes in {path}, found {len(key)}. Put a copy of it back, or delete it: then records are not known "
                "again by their fingerprints, and accounts in the ledger go by their names alone."
            )
        return key


@cache
def close_to_others(folder: Path) -> None:
    """Take every right on a home from other accounts, once a process; says so in one sentence where there was one to take.

    A folder of other things is refused: closing it may break what uses it. Nobody gets past the folder itself, so what
    another process removes meanwhile, or another account owns, is passed over.
    """
    open_ones = [path for path in (folder, *_files_inside(folder)) if _is_open(path)]
    if not open_ones:
        return
    names = {path.name for path in folder.iterdir()}
    if folder.stat().st_mode & stat.S_ISVTX or not (names <= FOLDERS | MARKS | {"data"} or names & MARKS):
        raise WorkbenchError(
            f"Expected an empty folder or a home of the workbench at {folder}, got one of other things. Set WORKBENCH_HOME."
        )
    try:
        folder.chmod(PRIVATE_FOLDER)
    except PermissionError as error:
        raise WorkbenchError(f"Expected a folder that can be closed to other accounts, got: {error}. Set WORKBENCH_HOME.") from None
    for path in open_ones:
        with suppress(FileNotFoundError, PermissionError):
            path.chmod(path.lstat().st_mode & ~OTHERS)
    logger.warning("Closed %s to the other accounts of this machine: %d of its files and folders gave them rights.", folder, len(open_ones))


def _files_inside(folder: Path) -> Iterator[Path]:
    """The files of a home and all that lies in the folders that the workbench makes."""
    for path in folder.iterdir():
        if path.is_file() or path.name in FOLDERS:
            yield path
        if path.name in FOLDERS:
            yield from (Path(place, name) for place, folders, files in os.walk(path) for name in (*folders, *files))


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return bool(mode & OTHERS) and not stat.S_ISLNK(mode)


def _new_key(path: Path) -> bytes:
    """A new key, in its place whole or not at all; where several processes make one, the first one's stays."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()
    return path.read_bytes()
