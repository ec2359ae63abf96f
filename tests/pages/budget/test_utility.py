"""Measures on the chart of utility against epsilon: what each is called there, and on which scale it stands."""

import json
import os
from dataclasses import replace

import pandas as pd
import pytest
from support.homes import here

from workbench.datasets import facts
from workbench.evaluation import METRICS
from workbench.pages.budget.utility import BARS, bars_note, first_of, is_fraction, measure_title, reference_lines, taker
from workbench.published import load_published
from workbench.runs.folder import RunFolder
from workbench.runs.store import RunStore
from workbench.ui.runs import results_of


def test_a_measure_has_its_title_and_scale_from_its_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        METRICS, "coverage", replace(METRICS["kernel_distance"], name="coverage", title="Coverage", unit="", is_fraction=True)
    )
    assert measure_title("coverage") == "Coverage"
    assert is_fraction("coverage")


def test_features_and_unit_stand_where_a_value_depends_on_them() -> None:
    assert measure_title("kernel_distance", ["pixels"]) == "Kernel distance (pixels; squared kernel distance)"
    assert measure_title("accuracy_cnn", ["pixels"]) == "Accuracy, CNN"
    assert measure_title("nearer_to_training", ["pixels"]) == "Nearer to training (pixels)"


def test_what_only_papers_have_printed_has_a_title_too() -> None:
    printed = sorted(set(load_published()["metric"]) - METRICS.keys())
    assert [measure_title(name) for name in printed] == [
        "Accuracy, classifier not named (published)",
        "FID, Inception features (published)",
    ]
    assert [is_fraction(name) for name in printed] == [name.startswith("accuracy_") for name in printed]


def test_what_is_taken_by_name_alone_says_by_which_command() -> None:
    assert taker("accuracy_semi_supervised", "The Runs page") == "workbench evaluate RUN --metric accuracy_semi_supervised"
    assert taker("accuracy_cnn", "The Runs page") == taker("fid_published", "The Runs page") == "The Runs page"
    assert "accuracy_semi_supervised takes it" in reference_lines(facts("digits"), "accuracy_semi_supervised", {})[1][0]
    assert "measure of the model" in reference_lines(facts("digits"), "variational_bound", {})[1][0]


def test_error_bars_of_each_kind_say_what_they_are() -> None:
    none = pd.DataFrame({"low": [0.5], "high": [0.5]})
    some = pd.DataFrame({"low": [0.4], "high": [0.6]})
    without, with_std = pd.DataFrame({"std": [float("nan"), 0.0]}), pd.DataFrame({"std": [0.01]})
    assert bars_note(none, none, without) == []
    assert bars_note(none, some, without) == [f"Error bars: {BARS['measured']}."]
    assert bars_note(some, none, with_std) == [f"Error bars: {BARS['own']}; {BARS['printed']}."]


def test_records_that_look_like_nothing_public_are_said_to() -> None:
    values = {"ceiling": 0.96, "epsilon_zero": 0.12, "epsilon_zero_releasable": False, "public_records": 0.11}
    notes = reference_lines(facts("permuted-digits"), "accuracy_logistic_regression", values)[1]
    assert any("look like nothing public" in note and "0.12" in note for note in notes)
    weak = reference_lines(facts("digits"), "accuracy_logistic_regression", values | {"public_records": 0.7})[1]
    assert any("learned too little" in note for note in weak)
    assert not any("look like nothing public" in note for note in weak), "twenty steps of pre-training are not the records' fault"
    assert not reference_lines(facts("digits"), "accuracy_logistic_regression", values | {"epsilon_zero": 0.72})[1]


def test_results_are_read_again_only_when_a_file_of_them_changed(home_with_runs: object, monkeypatch: pytest.MonkeyPatch) -> None:
    del home_with_runs
    run = RunStore(here()).list()[0]
    before = results_of(run.id)
    assert [row["name"] for row in before] == ["accuracy_logistic_regression", "nearer_to_training"]
    with monkeypatch.context() as patch:
        patch.setattr("workbench.ui.runs.kept_results", lambda *_: pytest.fail("nothing has changed"))
        assert results_of(run.id) == before
    path = RunFolder(here(), run.id).evaluation
    evaluation = json.loads(path.read_text())
    path.write_text(json.dumps(evaluation | {"results": evaluation["results"][:1]}))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000))
    assert [row["name"] for row in results_of(run.id)] == ["accuracy_logistic_regression"]


def test_a_note_names_a_few_runs_and_counts_the_others() -> None:
    assert first_of(["a", "b"]) == "a, b"
    assert first_of([str(number) for number in range(1_005)]) == "0, 1, 2, 3, 4 and 1,000 more"
