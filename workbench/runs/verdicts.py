"""Verdicts of a person who looked at samples beside their nearest records; kept with a history, so that each can be undone."""

import csv
import io
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.escaping import spreadsheet_cell
from workbench.marks import mark
from workbench.runs.run import check_run_id
from workbench.runs.samples.request import DEFAULT, check_set_id
from workbench.sqlite import Database, statements

Judgement = Literal["copied", "similar", "fine", "unsure"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)
REMEDY = "Put a copy of it back, or move it away to start an empty one: the runs stay as they are."
MIGRATIONS = (
    statements(
        """CREATE TABLE verdicts (number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, sample INTEGER NOT NULL,
           verdict TEXT NOT NULL, note TEXT NOT NULL, time REAL NOT NULL, samples TEXT NOT NULL)"""
    ),
)


class Verdict(BaseModel):
    """What was said about one sample (its index in a set of the run's samples, or in an import) and when (seconds since the epoch)."""

    model_config = ConfigDict(frozen=True)

    run: str
    samples: str = DEFAULT
    sample: int
    verdict: Judgement
    note: str = ""
    time: float


class Verdicts:
    """The verdicts in one SQLite file, made with the first use."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, "file of verdicts", MIGRATIONS, REMEDY)
        self._database.prepare()

    def judge(self, run_id: str, sample: int, verdict: str, note: str = "", samples: str = DEFAULT) -> Verdict:
        """Keep a verdict on a sample; it replaces an earlier one, which `undo` brings back."""
        check_run_id(run_id)
        check_set_id(samples)
        if verdict not in JUDGEMENTS:
            raise WorkbenchError(f"Unknown verdict {verdict!r}. Choose one of: {', '.join(JUDGEMENTS)}.")
        if sample < 0:
            raise WorkbenchError(f"Expected the index of a sample, got {sample}.")
        now = time.time()
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO verdicts (run, samples, sample, verdict, note, time) VALUES (?, ?, ?, ?, ?, ?)",
                (run_id, samples, sample, verdict, note, now),
            )
        return Verdict(run=run_id, samples=samples, sample=sample, verdict=verdict, note=note, time=now)

    def of(self, run_id: str, samples: str = DEFAULT) -> dict[int, Verdict]:
        """The verdicts in force on a set of a run's samples, by sample index."""
        check_run_id(run_id)
        with self._database.connected() as connection:
            rows = connection.execute("SELECT * FROM verdicts WHERE run = ? AND samples = ? ORDER BY number", (run_id, samples)).fetchall()
        return {row["sample"]: _verdict(row) for row in rows}

    def all_of(self, run_id: str) -> list[Verdict]:
        """All verdicts on a run's samples, with those that later ones replaced, in their order."""
        with self._database.connected() as connection:
            rows = connection.execute("SELECT * FROM verdicts WHERE run = ? ORDER BY number", (check_run_id(run_id),)).fetchall()
        return [_verdict(row) for row in rows]

    def take_over(self, verdicts: Iterable[Verdict]) -> None:
        """Keep verdicts that were given in another home, in their order."""
        rows = [(one.run, one.samples, one.sample, one.verdict, one.note, one.time) for one in verdicts]
        with self._database.transaction() as connection:
            connection.executemany("INSERT INTO verdicts (run, samples, sample, verdict, note, time) VALUES (?, ?, ?, ?, ?, ?)", rows)

    def undo(self, run_id: str, samples: str = DEFAULT) -> Verdict | None:
        """Take back the latest verdict on a set of a run's samples and return it; None if there is none."""
        check_run_id(run_id)
        with self._database.transaction() as connection:
            found = "SELECT * FROM verdicts WHERE run = ? AND samples = ? ORDER BY number DESC LIMIT 1"
            row = connection.execute(found, (run_id, samples)).fetchone()
            if row is None:
                return None
            connection.execute("DELETE FROM verdicts WHERE number = ?", (row["number"],))
        return _verdict(row)

    def export_csv(self, run_id: str, samples: str = DEFAULT) -> str:
        """The verdicts in force as CSV with a header, ordered by sample; text that a spreadsheet would run is quoted.

        Each row has its mark: whoever gave the verdict had private records before their eyes.
        """
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([*Verdict.model_fields, "mark"])
        for _, verdict in sorted(self.of(run_id, samples).items()):
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(verdict.time))
            said = (verdict.run, verdict.samples, verdict.sample, verdict.verdict, spreadsheet_cell(verdict.note), stamp)
            writer.writerow([*said, mark(releasable=False)])
        return text.getvalue()

    def forget(self, run_id: str) -> None:
        """Remove all verdicts on a run, or an import."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM verdicts WHERE run = ?", (check_run_id(run_id),))


def _verdict(row: sqlite3.Row) -> Verdict:
    return Verdict(**{name: row[name] for name in Verdict.model_fields})
