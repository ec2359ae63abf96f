"""Marks belong to values: which of a result's numbers may leave the room, and that every export obeys it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.quick import quick_plan

from workbench import experiment
from workbench.cli import main
from workbench.cli.result_rows import result_rows
from workbench.datasets import load
from workbench.evaluation import METRICS
from workbench.evaluation.context import Measurement
from workbench.marks import MARKS, may_leave, withheld
from workbench.pages.runs.tables import result_table, value_text
from workbench.recipes.report import markdown_table, measured_lines, summary_rows
from workbench.ui.traces import value_table

ROOT = Path(__file__).parents[1]
RESULT: dict[str, Any] = {
    "name": "inception_score", "value": 1.5, "interval": [1.25, 1.75], "num_samples": 40, "features": "classifier", "split": "none",
    "seconds": 1.0, "releasable": True, "ceiling": 2.5, "epsilon_zero": 1.125, "epsilon_zero_releasable": True,
    "ceiling_releasable": False, "note": "of the value",
}  # fmt: skip
OLD = {name: value for name, value in RESULT.items() if not name.endswith("_releasable")}


def recipe_results(entry: dict[str, Any]) -> list[dict[str, Any]]:
    values = {"name": "![x](y) | a", "method": "a", "claim": {"epsilon": 1.0}, "bound": {"epsilon": 1.0, "delta": 1e-5}, "seconds": 1.0}
    return [values | {"seed": 0, "run": "abcd2345", "evaluation": {"results": [entry]}}]


def test_only_a_measure_that_touches_no_private_record_can_release_its_value() -> None:
    assert [name for name, metric in METRICS.items() if not metric.touches] == [
        *("inception_score", "pac_noise_norm", "pac_noise_norm_certain")
    ]
    assert {name: metric.split for name, metric in METRICS.items() if metric.split != "held_out"} == {
        "inception_score": "none", "pac_noise_norm": "none", "pac_noise_norm_certain": "none",
        "privacy_score": "train", "agreement": "train", "nearer_to_training": "train+held_out",
        "unique_rows": "train+held_out", "unique_pairs": "train+held_out",
        "singling_out": "train+held_out", "linkability": "train+held_out", "inference": "train+held_out",
        "closest_record": "train+held_out", "frechet_distance_published": "train", "kernel_distance_published": "train",
    }  # fmt: skip
    for metric in METRICS.values():
        assert not metric.releases(Measurement(0.0, None, "classifier of private records"))
        assert metric.releases(Measurement(0.0, None, "public", private=False)) is (not metric.touches)


def test_beside_every_accuracy_on_held_out_records_stands_the_largest_class() -> None:
    assert {name for name, metric in METRICS.items() if metric.is_accuracy} == {name for name in METRICS if name.startswith("accuracy_")}


@pytest.mark.parametrize(("method", "seed", "releasable"), [("dp-merf", None, True), ("dp-merf", 0, False), ("nonprivate", None, False)])
def test_the_flow_marks_what_it_measures_of_a_seeded_or_unbounded_state_as_private(method: str, seed: int | None, releasable: bool) -> None:
    plan = quick_plan(method)
    (measure,) = experiment.evaluate(plan, experiment.new_state(plan, seed=seed), load("digits"), 20, metrics=["pac_noise_norm"])
    assert measure.releasable is releasable


def test_a_mark_that_is_missing_keeps_the_value_in_the_room() -> None:
    assert [name for name in MARKS if may_leave(RESULT, name)] == ["value", "interval", "epsilon_zero"]
    assert [name for name in MARKS if may_leave(OLD, name)] == ["value", "interval"]
    assert not any(may_leave({"releasable": "yes"}, name) for name in MARKS)


def test_what_is_withheld_is_gone_with_its_note() -> None:
    assert withheld(RESULT) == RESULT | {"ceiling": None}
    assert withheld(RESULT | {"largest_class": 0.625, "largest_class_releasable": False})["largest_class"] is None
    assert withheld(RESULT | {"baselines": {"half of the real rows": 0.5}})["baselines"] == {}
    private = withheld(RESULT | {"releasable": False})
    assert (private["value"], private["interval"], private["note"], private["epsilon_zero"]) == (None, None, "", 1.125)


def test_every_number_of_every_table_has_its_mark() -> None:
    (row,) = result_rows({"results": [RESULT]})
    assert (row["value (releasable)"], row["interval (releasable)"]) == ("1.5", "1.25, 1.75")
    assert (row["epsilon_zero (releasable)"], row["ceiling (private)"]) == ("1.125", "2.5")
    assert len(row) == 6, "nor simple rows nor the largest class, which only tables and accuracies have"
    mixed = [RESULT, RESULT | {"releasable": False, "largest_class": 0.625, "largest_class_releasable": False}]
    first, second = result_rows({"results": mixed})
    assert (first["value"], second["value"]) == ("1.5 releasable", "1.5 private")
    assert (first["interval"], second["interval"]) == ("1.25, 1.75 releasable", "1.25, 1.75 private")
    assert (first["largest_class (private)"], second["largest_class (private)"]) == (None, "0.625")
    (shown,) = result_table([OLD]).to_dict("records")
    assert (shown["Value"], shown["Real data (ceiling)"]) == ("1.5 (releasable)", "2.5 (private)")
    assert shown["Epsilon 0 (public data)"] == "1.12 (private)"
    accuracy = OLD | {"largest_class": 0.625}
    assert [row["Largest class (held-out records)"] for row in result_table([accuracy, OLD]).to_dict("records")] == ["0.625 (private)", "–"]
    interval = "1.5 (releasable), 95 %: 1.25 to 1.75"
    assert [value_text(row) for row in (OLD, accuracy)] == [interval, f"{interval}; largest class 0.625 (private)"]
    assert value_text(OLD | {"interval": None}) == "1.5 (releasable)"
    (summary,) = summary_rows(recipe_results(RESULT))
    assert (summary["mark"], summary["epsilon 0 mark"], summary["ceiling mark"]) == ("releasable", "releasable", "private")


def test_a_recipe_s_table_marks_every_number_and_says_what_the_marks_mean() -> None:
    table = markdown_table({"inception_score": measured_lines(recipe_results(RESULT), "inception_score")}).splitlines()
    assert "| 2.500 (private) |" in table[2]
    assert "| 1.125 (releasable) |" in table[3]
    assert table[4].startswith("| !\\[x\\](y) \\| a | 1 | 1 | 1.500 (releasable) |")
    assert "*private*: computed from the dataset's records without noise" in table[8]
    (line,) = measured_lines(recipe_results(OLD) * 2, "inception_score")
    assert (line.releasable, line.epsilon_zero_releasable, line.ceiling_releasable) == (True, False, False)


def test_a_report_is_made_from_the_results_alone_and_can_leave_the_private_numbers_out(tmp_path: Path) -> None:
    file = tmp_path / "digits.json"
    file.write_text((ROOT / "docs/results/digits.json").read_text())
    for options, expected in (([], (ROOT / "docs/results/digits.md").read_text()), (["--releasable"], None)):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(file), *options])
        assert ended.value.code == 0
        table = (tmp_path / "digits.md").read_text()
        assert expected is None or table == expected
    assert "0.963" not in table
    assert "(private)" not in table
    assert "| dp-promise, bound 10 | 9.933 | 9.98 | not given |" in table
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_losses_and_distances_have_their_mark_where_they_are_exported() -> None:
    frame = pd.DataFrame({"run": ["a"], "step": [1], "loss": [2.0]})
    assert value_table(frame, "loss").columns.tolist() == [
        "run",
        "step",
        "loss (private)",
    ]


RECIPE = {"title": "x", "runs": [{"name": "a", "method": "a", "dataset": "digits"}]}


@pytest.mark.parametrize(
    "kept",
    [
        {"results": []},
        {"recipe": RECIPE, "results": [{}]},
        {"recipe": RECIPE, "results": 1},
        {"recipe": RECIPE, "results": [{"name": "a", "evaluation": []}]},
        {"recipe": RECIPE | {"measure": "$\\frac{ | ![x](y)"}, "results": recipe_results(RESULT)},
    ],
)
def test_a_file_that_is_no_report_is_refused_in_words(kept: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text(json.dumps(kept))
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path / "other.json")])
    assert ended.value.code == 2
    assert "Expected results of `workbench reproduce --out`" in capsys.readouterr().err
