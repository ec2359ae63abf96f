"""Verdicts: the latest counts, undo brings back the one before, and the export is inert."""

import csv
import io
import math

import pytest
from support.homes import here

from workbench.errors import WorkbenchError
from workbench.runs.verdicts import Verdicts

RUN = "abcdefgh"


def test_the_latest_verdict_counts_and_undo_brings_back_the_one_before() -> None:
    Verdicts(here().verdicts).judge(RUN, 7, "copied")
    Verdicts(here().verdicts).judge(RUN, 7, "fine", "looked again")
    Verdicts(here().verdicts).judge(RUN, 2, "unsure")
    assert {sample: verdict.verdict for sample, verdict in Verdicts(here().verdicts).of(RUN).items()} == {7: "fine", 2: "unsure"}
    undone = [Verdicts(here().verdicts).undo(RUN), Verdicts(here().verdicts).undo(RUN)]
    assert [verdict.sample for verdict in undone if verdict] == [2, 7]
    assert {sample: verdict.verdict for sample, verdict in Verdicts(here().verdicts).of(RUN).items()} == {7: "copied"}
    Verdicts(here().verdicts).undo(RUN)
    assert Verdicts(here().verdicts).undo(RUN) is None


def test_runs_do_not_share_verdicts() -> None:
    Verdicts(here().verdicts).judge(RUN, 1, "copied")
    Verdicts(here().verdicts).judge("bbbbbbbb", 1, "fine")
    Verdicts(here().verdicts).forget(RUN)
    assert Verdicts(here().verdicts).of(RUN) == {}
    assert len(Verdicts(here().verdicts).of("bbbbbbbb")) == 1


def test_the_export_is_ordered_csv_that_no_spreadsheet_runs() -> None:
    Verdicts(here().verdicts).judge(RUN, 3, "similar", "=1+1")
    Verdicts(here().verdicts).judge(RUN, 1, "fine", 'said "hello", twice')
    rows = list(csv.DictReader(io.StringIO(Verdicts(here().verdicts).export_csv(RUN))))
    assert [(row["sample"], row["verdict"], row["note"]) for row in rows] == [
        ("1", "fine", 'said "hello", twice'),
        ("3", "similar", "'=1+1"),
    ]
    assert {row["mark"] for row in rows} == {"private"}  # whoever gave them looked at private records


@pytest.mark.parametrize(("run", "sample", "verdict"), [(RUN, 0, "guilty"), (RUN, -1, "fine"), ("../x", 0, "fine")])
def test_bad_verdicts_are_refused(run: str, sample: int, verdict: str) -> None:
    with pytest.raises(WorkbenchError):
        Verdicts(here().verdicts).judge(run, sample, verdict)


def test_sets_of_one_run_do_not_share_verdicts() -> None:
    verdicts = Verdicts(here().verdicts)
    verdicts.judge(RUN, 1, "copied")
    verdicts.judge(RUN, 1, "fine", samples="0123abcd")
    assert (verdicts.of(RUN)[1].verdict, verdicts.of(RUN, "0123abcd")[1].verdict) == ("copied", "fine")
    assert ",0123abcd,1,fine," in verdicts.export_csv(RUN, "0123abcd")
    assert verdicts.undo(RUN, "0123abcd") is not None
    assert (len(verdicts.of(RUN)), verdicts.of(RUN, "0123abcd")) == (1, {})
    with pytest.raises(WorkbenchError, match="a set of samples by its 8 digits"):
        verdicts.judge(RUN, 1, "fine", samples="../x")


def test_reviewers_have_verdicts_of_their_own_and_agree_beyond_chance() -> None:
    """Ten samples: both say fine of 6 and copied of 2, and differ in 2. Chance: .8 * .6 + .2 * .4 = .56."""
    verdicts = Verdicts(here().verdicts)
    said = {"Ada": ["fine"] * 8 + ["copied"] * 2, "Ben": ["fine"] * 6 + ["copied"] * 4}
    for name, words in said.items():
        for sample, word in enumerate(words):
            verdicts.judge(RUN, sample, word, reviewer=name)
    [agreement] = verdicts.agreements(RUN)
    assert (agreement.first, agreement.second, agreement.both, agreement.same) == ("Ada", "Ben", 10, 8)
    assert agreement.kappa == pytest.approx((0.8 - 0.56) / 0.44)
    error = math.sqrt(0.8 * 0.2 / 10) / 0.44
    assert agreement.interval == pytest.approx((0.24 / 0.44 - 1.96 * error, 1.0), abs=1e-4), "not beyond 1"
    verdicts.judge(RUN, 0, "copied")  # by whom is not told
    assert verdicts.agreements(RUN) == [agreement]
    verdicts.undo(RUN, reviewer="")
    assert verdicts.of(RUN)[6].verdict == "copied"
    assert verdicts.of(RUN, reviewer="Ada")[6].verdict == "fine"
    undone = verdicts.undo(RUN, reviewer="Ada")
    assert undone is not None
    assert (undone.reviewer, undone.sample) == ("Ada", 9)
    assert len(verdicts.of(RUN, reviewer="Ben")) == 10
    assert next(csv.DictReader(io.StringIO(verdicts.export_csv(RUN))))["reviewer"] == "Ben"
