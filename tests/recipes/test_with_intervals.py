"""Runs of images side by side: a row a run with intervals and marks, features apart, what they are held against beneath."""

from typing import Any

import pytest

from workbench.cli.output import print_table
from workbench.errors import WorkbenchError
from workbench.recipes.side_by_side import as_markdown
from workbench.recipes.with_intervals import with_intervals

ACCURACY, DISTANCE = "accuracy_logistic_regression", "frechet_distance"


def entry(name: str, value: float | None, features: str = "pixels", **others: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "interval": None, "features": features} | others


def result(name: str, *entries: dict[str, Any], bound: float | str = 1.0) -> dict[str, Any]:
    return {"name": name, "method": name, "bound": {"epsilon": bound}, "evaluation": {"results": list(entries)}}


def test_a_row_a_run_in_their_order_with_interval_and_mark() -> None:
    first = result("b", entry(ACCURACY, 0.83219, interval=[0.801, 0.8571]), bound="inf")
    second = result("a", entry(ACCURACY, 0.5, releasable=True), bound=0.99851)
    assert with_intervals([first, second]) == [
        {"line": "b", "bound": "none", ACCURACY: "0.8322, 95 %: 0.801 to 0.8571 (private)"},
        {"line": "a", "bound": "0.9985", ACCURACY: "0.5 (releasable)"},
    ]


def test_what_runs_are_held_against_stands_beneath_as_a_range_where_they_differ() -> None:
    first = entry(ACCURACY, 0.8, ceiling=0.95, epsilon_zero=0.4, epsilon_zero_releasable=True, largest_class=0.12)
    second = first | {"ceiling": 0.91, "epsilon_zero": 0.4, "largest_class": 0.12}
    rows = with_intervals([result("a", first), result("b", second), result("c", entry(ACCURACY, 0.7))])[3:]
    assert rows == [
        {"line": "real records (ceiling)", "bound": "none", ACCURACY: "0.91 to 0.95 (private)"},
        {"line": "public data alone (epsilon 0)", "bound": "0", ACCURACY: "0.4 (releasable)"},
        {"line": "largest class of held-out records", "bound": "none", ACCURACY: "0.12 (private)"},
    ]
    private = second | {"epsilon_zero_releasable": False}
    assert with_intervals([result("a", first), result("b", private)])[3][ACCURACY] == "0.4 (private)", "if one of them is"


def test_distances_in_other_features_stand_in_columns_of_their_own() -> None:
    rows = with_intervals([result("a", entry(DISTANCE, 2.0)), result("b", entry(DISTANCE, 3.0, "classifier"))])
    assert [list(row.items())[2:] for row in rows] == [
        [(f"{DISTANCE} in pixels", "2 (private)"), (f"{DISTANCE} in classifier", "-")],
        [(f"{DISTANCE} in pixels", "-"), (f"{DISTANCE} in classifier", "3 (private)")],
    ]
    alike = with_intervals([result("a", entry(ACCURACY, 0.5)), result("b", entry(ACCURACY, 0.6, "classifier"))])
    assert list(alike[0]) == ["line", "bound", ACCURACY], "an accuracy is in no features"


def test_the_name_of_a_file_with_features_is_inert_in_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    rows = with_intervals([result("a", entry(DISTANCE, 2.0)), result("b", entry(DISTANCE, 3.0, "![x](y)\x1b[2J"))])
    assert "!\\[x\\](y)" in as_markdown(rows)
    print_table([dict(row) for row in rows], "")
    assert "\x1b" not in capsys.readouterr().out


def test_only_the_measures_asked_for_and_none_where_nothing_may_leave() -> None:
    both = result("a", entry(DISTANCE, 2.0), entry(ACCURACY, 0.5))
    assert list(with_intervals([both])[0]) == ["line", "bound", ACCURACY, DISTANCE]
    assert list(with_intervals([both], [DISTANCE])[0]) == ["line", "bound", DISTANCE]
    with pytest.raises(WorkbenchError, match="Expected runs that have been evaluated, with numbers to show"):
        with_intervals([result("a", entry(ACCURACY, None))])
