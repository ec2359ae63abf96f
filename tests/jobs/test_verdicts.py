"""Verdicts: the latest counts, undo brings back the one before, and the export is inert."""

import csv
import io

import pytest

from workbench.errors import WorkbenchError
from workbench.jobs import verdicts

RUN = "abcdefgh"


def test_the_latest_verdict_counts_and_undo_brings_back_the_one_before() -> None:
    verdicts.judge(RUN, 7, "copied")
    verdicts.judge(RUN, 7, "fine", "looked again")
    verdicts.judge(RUN, 2, "unsure")
    assert {sample: verdict.verdict for sample, verdict in verdicts.verdicts(RUN).items()} == {7: "fine", 2: "unsure"}
    undone = [verdicts.undo(RUN), verdicts.undo(RUN)]
    assert [verdict.sample for verdict in undone if verdict] == [2, 7]
    assert {sample: verdict.verdict for sample, verdict in verdicts.verdicts(RUN).items()} == {7: "copied"}
    verdicts.undo(RUN)
    assert verdicts.undo(RUN) is None


def test_runs_do_not_share_verdicts() -> None:
    verdicts.judge(RUN, 1, "copied")
    verdicts.judge("bbbbbbbb", 1, "fine")
    verdicts.forget(RUN)
    assert verdicts.verdicts(RUN) == {}
    assert len(verdicts.verdicts("bbbbbbbb")) == 1


def test_the_export_is_ordered_csv_that_no_spreadsheet_runs() -> None:
    verdicts.judge(RUN, 3, "similar", "=1+1")
    verdicts.judge(RUN, 1, "fine", 'said "hello", twice')
    rows = list(csv.DictReader(io.StringIO(verdicts.export_csv(RUN))))
    assert [(row["sample"], row["verdict"], row["note"]) for row in rows] == [
        ("1", "fine", 'said "hello", twice'),
        ("3", "similar", "'=1+1"),
    ]
    assert {row["mark"] for row in rows} == {"private"}  # whoever gave them looked at private records


@pytest.mark.parametrize(("run", "sample", "verdict"), [(RUN, 0, "guilty"), (RUN, -1, "fine"), ("../x", 0, "fine")])
def test_bad_verdicts_are_refused(run: str, sample: int, verdict: str) -> None:
    with pytest.raises(WorkbenchError):
        verdicts.judge(run, sample, verdict)
