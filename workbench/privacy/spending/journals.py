"""What processes charge that cannot reach the ledger, or may not be alone with it: a file a process, in a folder that the ledger reads.

Noise comes from a key, and whoever draws with it works on one lineage: a new key begins a new one. What a stage has spent is the number
of different steps that any process has charged in any lineage, so it matters neither in which order processes worked nor what they saw
of one another. A row is on the disk before its step is drawn, and what a file says only grows: no process, late or left behind, makes it
less.
"""

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import DamagedFileError
from workbench.files import PRIVATE_FILE, open_private, sync_folder, written_atomically
from workbench.privacy.spending.totals import LedgerEntry, entry_from
from workbench.serialization import dumps

ACCOUNT, LEASE = "account.json", "lease"  # what was spent before the first journal, and whose turn it is to write
NAME = re.compile(r"([0-9]{6,})\.jsonl")
LONG = 16 * 1024  # bytes of a journal after which it is written shorter
Counts = Mapping[str, tuple[int, int]]  # by stage: steps charged, steps charged again


def journal_path(folder: Path, number: int) -> Path:
    """The file of a process."""
    return folder / f"{number:06d}.jsonl"


@dataclass(frozen=True)
class Journal:
    """The file of one process."""

    path: Path

    def charge(self, lineage: str, stage: str, start: int, step: int) -> None:
        """Steps `start` + 1 to `step` of a stage are spent with the noise of a lineage; durable on return."""
        self._write({"lineage": lineage, "stage": stage, "start": start, "step": step})

    def charge_again(self, stage: str, steps: int) -> None:
        """So many more steps of a stage are spent; durable on return."""
        self._write({"stage": stage, "again": steps})

    def close(self) -> None:
        """The model is on the disk: whoever finds a checkpoint of it from now on erases it."""
        self._write({"closed": True})

    def _write(self, row: dict[str, Any]) -> None:
        with open_private(self.path, "a") as file:
            before = file.tell()
            file.write(_sealed_line(row))
            file.flush()
            os.fsync(file.fileno())
            is_long = file.tell() // LONG > before // LONG
        if is_long:
            with suppress(OSError, ValueError):  # one that is damaged stays so, and counts with all that it may hold
                self._shorten()

    def _shorten(self) -> None:
        """Write all rows as few that say the same, so that the ledger opens at once however long the run; nobody else writes the file."""
        rows = merged_rows(_rows(self.path))
        with written_atomically(self.path, durable=True) as file:
            file.writelines(map(_sealed_line, rows))


@dataclass(frozen=True)
class JournaledRun:
    """What a folder tells of a run: its entry as it was before the first journal, the rows of the journals that can be read, and how many
    cannot, be they damaged or gone.
    """

    entry: LedgerEntry
    rows: Sequence[dict[str, Any]]
    unread: int

    @property
    def counts(self) -> Counts:
        """Steps charged and charged again, by paid stage, as far as it can be read."""
        return {stage: (min(far, total), max(0, total - far)) for stage, far, total in self._totals()}

    @property
    def most(self) -> Counts:
        """The same where journals cannot be read: each process works on one lineage, so it has taken each step once at most. Empty where
        all can be.
        """
        if not self.unread:
            return {}
        steps = {stage.stage: stage.steps for stage in self.entry.stages}
        return {stage: (steps[stage], total + (self.unread - 1) * steps[stage]) for stage, _, total in self._totals()}

    @property
    def is_closed(self) -> bool:
        """Whether a process had the whole model on the disk."""
        return any("closed" in row for row in self.rows)

    def _totals(self) -> Iterator[tuple[str, int, int]]:
        """Of each paid stage: its furthest step, and how many different steps were charged in all lineages."""
        for stage in self.entry.stages:
            if stage.spent == "free":
                continue
            spans, again = {"": (0, stage.charged)}, stage.charged_again  # what was spent before is of the home's own lineage
            for row in self.rows:
                if row.get("stage") != stage.stage:
                    continue
                again += row.get("again", 0)
                if "step" in row:
                    start, step = spans.get(row["lineage"], (row["start"], row["step"]))
                    spans[row["lineage"]] = min(start, row["start"]), max(step, row["step"])
            yield stage.stage, max(step for _, step in spans.values()), again + sum(step - start for start, step in spans.values())


def read_journals(folder: Path) -> JournaledRun:
    """What a folder tells; raises OSError or DamagedFileError where nothing can be said of it.

    Journals are numbered from 1 on, and the lease names one of them: what is missing was there. Each is opened by its name, as a folder's
    list may be old where machines share it.
    """
    try:
        (entry,) = map(entry_from, _rows(folder / ACCOUNT))
        newest = max([lease(folder), *numbers(folder)])
    except ValueError as error:
        raise DamagedFileError(f"Expected in {folder} what a run has spent, got a file that is damaged ({error}).") from error
    unread, rows = 0, list[dict[str, Any]]()
    for number in range(1, newest + 1):
        try:
            rows += _rows(journal_path(folder, number))
        except (OSError, ValueError):
            unread += 1
    return JournaledRun(entry, rows, unread)


def merged_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a journal in one of each kind: a span of each lineage and stage, what was charged again of each stage, and the end."""
    kinds = dict[tuple[str, ...], dict[str, Any]]()
    for row in rows:
        kind = tuple(f"{name} {row[name]}" if name in ("lineage", "stage") else name for name in row)
        known = kinds.setdefault(kind, row)
        if "step" in row:
            kinds[kind] = row | {"start": min(known["start"], row["start"]), "step": max(known["step"], row["step"])}
        elif "again" in row and known is not row:
            kinds[kind] = row | {"again": known["again"] + row["again"]}
    return list(kinds.values())


def keep_entry(folder: Path, entry: LedgerEntry) -> None:
    """Write what a run has spent before the first journal."""
    with written_atomically(folder / ACCOUNT, durable=True) as file:
        file.write(_sealed_line(entry))


def new_journal(folder: Path) -> int:
    """Make the next journal, empty; its number."""
    number = 1 + max([lease(folder), *numbers(folder)])
    while True:
        try:
            os.close(os.open(journal_path(folder, number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE))
        except FileExistsError:
            number += 1
            continue
        sync_folder(folder)
        return number


def take_lease(folder: Path, number: int) -> None:
    """Have the process of a journal be the one that works, whoever was before."""
    with written_atomically(folder / LEASE, durable=True) as file:
        file.write(str(number))


def lease(folder: Path) -> int:
    """The number of the journal whose process works; 0 where none ever did."""
    try:
        return int((folder / LEASE).read_text())
    except FileNotFoundError:
        return 0


def numbers(folder: Path) -> list[int]:
    """The journals of a folder."""
    return [int(match[1]) for match in map(NAME.fullmatch, os.listdir(folder)) if match]


def _sealed_line(row: object) -> str:
    text = dumps(row)
    return f"{text} {zlib.crc32(text.encode()):08x}\n"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a journal; ValueError where one is damaged.

    What follows the last end of a line was cut short by a crash, or is just being written: it was not durable, so no step followed.
    """
    for line in path.read_bytes().split(b"\n")[:-1]:
        text, _, seal = line.rpartition(b" ")
        if seal != f"{zlib.crc32(text):08x}".encode():
            raise ValueError(f"Expected whole rows in {path}, got a damaged one.")
        yield json.loads(text)
