"""Verdicts of a person who looked at samples beside their nearest records; kept with a history, so that each can be undone."""

import csv
import io
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.escaping import spreadsheet_cell
from workbench.evaluation.intervals import normal
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
           verdict TEXT NOT NULL, note TEXT NOT NULL, time REAL NOT NULL, samples TEXT NOT NULL, reviewer TEXT NOT NULL)"""
    ),
)
COLUMNS = "run, samples, sample, verdict, note, time, reviewer"
LONGEST_NAME = 100


class Verdict(BaseModel):
    """What was said about one sample (its index in a set of the run's samples, or in an import), when, and by whom, where that is told.

    `time` is in seconds since the epoch.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    samples: str = DEFAULT
    sample: int
    verdict: Judgement
    note: str = ""
    time: float
    reviewer: str = ""


class Agreement(BaseModel):
    """How often two reviewers said the same of the samples that both judged, and Cohen's kappa: 0 is chance, 1 always.

    `kappa` is None where both always said one and the same word, or judged no sample in common: chance is all there is then. `interval` is
    at 95 %, by the standard error of Cohen 1960.
    """

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    both: int
    same: int
    kappa: float | None
    interval: tuple[float, float] | None


class Verdicts:
    """The verdicts in one SQLite file, made with the first use."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, "file of verdicts", MIGRATIONS, REMEDY)
        self._database.prepare()

    def judge(self, run_id: str, sample: int, verdict: str, note: str = "", samples: str = DEFAULT, reviewer: str = "") -> Verdict:
        """Keep a verdict on a sample; it replaces an earlier one, which `undo` brings back."""
        check_run_id(run_id)
        check_set_id(samples)
        if verdict not in JUDGEMENTS:
            raise WorkbenchError(f"Unknown verdict {verdict!r}. Choose one of: {', '.join(JUDGEMENTS)}.")
        if sample < 0:
            raise WorkbenchError(f"Expected the index of a sample, got {sample}.")
        if len(reviewer) > LONGEST_NAME:
            raise WorkbenchError(f"Expected a reviewer's name of at most {LONGEST_NAME} letters, got {len(reviewer)}.")
        given = Verdict(run=run_id, samples=samples, sample=sample, verdict=verdict, note=note, time=time.time(), reviewer=reviewer)
        self.take_over([given])
        return given

    def of(self, run_id: str, samples: str = DEFAULT, reviewer: str | None = None) -> dict[int, Verdict]:
        """The verdicts in force on a set of a run's samples, by sample index: the last of anybody, or of one reviewer."""
        verdicts = [one for one in self.all_of(run_id) if one.samples == samples and reviewer in (None, one.reviewer)]
        return {one.sample: one for one in verdicts}

    def reviewers(self, run_id: str, samples: str = DEFAULT) -> list[str]:
        """Who has given a verdict on a set, in the order of the first one; a name that was not told is empty."""
        return list(dict.fromkeys(one.reviewer for one in self.all_of(run_id) if one.samples == samples))

    def agreements(self, run_id: str, samples: str = DEFAULT) -> list[Agreement]:
        """Of every two reviewers of a set, how far they agree; verdicts without a name may be anybody's and are left out."""
        given = {name: self.of(run_id, samples, name) for name in self.reviewers(run_id, samples) if name}
        return [agreement(one, other, given[one], given[other]) for one, other in combinations(given, 2)]

    def all_of(self, run_id: str) -> list[Verdict]:
        """All verdicts on a run's samples, with those that later ones replaced, in their order."""
        with self._database.connected() as connection:
            rows = connection.execute("SELECT * FROM verdicts WHERE run = ? ORDER BY number", (check_run_id(run_id),)).fetchall()
        return [_verdict(row) for row in rows]

    def take_over(self, verdicts: Iterable[Verdict]) -> None:
        """Keep verdicts that were given in another home, in their order."""
        rows = [(one.run, one.samples, one.sample, one.verdict, one.note, one.time, one.reviewer) for one in verdicts]
        with self._database.transaction() as connection:
            connection.executemany(f"INSERT INTO verdicts ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def undo(self, run_id: str, samples: str = DEFAULT, reviewer: str | None = None) -> Verdict | None:
        """Take back the latest verdict on a set of a run's samples, of anybody or of one reviewer, and return it; None if there is none."""
        check_run_id(run_id)
        with self._database.transaction() as connection:
            query = "SELECT * FROM verdicts WHERE run = ? AND samples = ? AND (? IS NULL OR reviewer = ?) ORDER BY number DESC LIMIT 1"
            row = connection.execute(query, (run_id, samples, reviewer, reviewer)).fetchone()
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
            writer.writerow([*said, spreadsheet_cell(verdict.reviewer), mark(releasable=False)])
        return text.getvalue()

    def forget(self, run_id: str) -> None:
        """Remove all verdicts on a run, or an import."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM verdicts WHERE run = ?", (check_run_id(run_id),))


def agreement(first: str, second: str, of_first: Mapping[int, Verdict], of_second: Mapping[int, Verdict]) -> Agreement:
    """Cohen's kappa of two reviewers over the samples that both judged (Cohen 1960)."""
    both = sorted(of_first.keys() & of_second.keys())
    pairs = [(of_first[sample].verdict, of_second[sample].verdict) for sample in both]
    same = sum(one == other for one, other in pairs)
    counts: list[Counter[str]] = [Counter(one for one, _ in pairs), Counter(other for _, other in pairs)]
    chance = sum(counts[0][word] * counts[1][word] for word in JUDGEMENTS) / len(both) ** 2 if both else 1.0
    if not both or chance == 1:
        return Agreement(first=first, second=second, both=len(both), same=same, kappa=None, interval=None)
    share = same / len(both)
    kappa = (share - chance) / (1 - chance)
    interval = normal(kappa, math.sqrt(share * (1 - share) / len(both)) / (1 - chance), low=-1.0, high=1.0)
    return Agreement(first=first, second=second, both=len(both), same=same, kappa=kappa, interval=interval)


def _verdict(row: sqlite3.Row) -> Verdict:
    return Verdict(**{name: row[name] for name in Verdict.model_fields})
