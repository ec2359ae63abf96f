"""Measured points on the chart of utility: a line a method, the floor apart, what they are from on hover and in the table."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest

from workbench.measured import COLUMNS
from workbench.pages.budget.frontier import (
    FLOOR,
    draw_measured,
    measured_note,
    measured_points,
    measured_references,
    measured_rows,
    with_method,
)
from workbench.pages.budget.points import OWN_COLUMNS
from workbench.pages.budget.utility import drawn
from workbench.published import load_published
from workbench.ui.charts import ReferenceLine
from workbench.ui.theme import GREY


def row(method: str, bound: float, value: float, seed: int, epsilon_zero: float = math.nan, **more: Any) -> dict[str, Any]:
    values = {
        "recipe": "mine",
        "line": f"{method}, bound {bound}" + " (floor)" * (method == FLOOR),
        "method": method,
        "bound": bound,
        "value": value,
        "seed": str(seed),
    }
    values |= {"delta": 1e-5, "relation": "REPLACE_SPECIAL", "num_samples": 1500, "mark": "private", "epsilon_zero": epsilon_zero}
    values |= {
        "epsilon_zero_mark": "private",
        "ceiling": 0.96,
        "seconds": 60.0,
        "code": "abc",
        "torch": "2",
        "processor": "P",
        "threads": "2",
    }
    return {**dict.fromkeys(COLUMNS, ""), **values, **more}


ROWS = pd.DataFrame(
    [
        row("a", 2.0, 0.8, 0, 0.5),
        row("a", 2.0, 0.9, 1, 0.6),
        row("a", 1.0, 0.7, 0, 0.5, code="abd"),
        row(FLOOR, 2.0, 0.75, 0, processor="<b>"),
        row("b", 5.0, 0.85, 0, 0.52),
    ]
)


def test_a_point_is_the_mean_of_a_line_s_runs_with_their_range() -> None:
    points = measured_points(ROWS)
    assert points["epsilon"].tolist() == [1.0, 2.0, 2.0, 5.0]
    whole = points.loc[points["line"] == "a, bound 2.0"].iloc[0]
    assert (whole["value"], whole["low"], whole["high"]) == (pytest.approx(0.85), 0.8, 0.9)
    assert "2 runs, seed 0, 1: 0.8 to 0.9 (private), 1,500 samples" in whole["about"]
    assert "its public model alone: 0.55 (private)" in whole["about"]
    assert measured_points(ROWS.iloc[:0]).empty


def test_the_chart_that_is_kept_is_that_of_all_its_points() -> None:
    points, printed = measured_points(ROWS), load_published("mnist", "accuracy_cnn")
    mine = [("a", 2.0, 0.6, 0.5, 0.7, "run", "", "protocol"), ("a", 3.0, 0.6, 0.5, 0.7, "run", "", "protocol")]
    shown: dict[str, list[Any]] = {  # each as it is, and another
        "own": [pd.DataFrame(rows, columns=list(OWN_COLUMNS)) for rows in (mine[:1], mine[1:])],
        "printed": [printed, printed.iloc[1:]],
        "measured": [points, points.iloc[1:]],
        "lines": [[ReferenceLine("chance", 0.1)], [ReferenceLine("chance", 0.2)]],
        "title": ["Accuracy", "Coverage"],
        "fraction": [True, False],
        "picked": [["a"], ["b"]],
    }
    usual = {name: pair[0] for name, pair in shown.items()}
    kept = drawn(**usual).to_json()
    assert drawn(**usual).to_json() == kept
    same = [name for name, pair in shown.items() if drawn(**usual | {name: pair[1]}).to_json() == kept]
    assert same == []


def test_a_method_is_a_line_and_the_floor_a_grey_one_with_provenance_on_hover() -> None:
    figure = go.Figure()
    draw_measured(figure, measured_points(ROWS))
    lines = {line.name: line for line in figure.data}
    assert set(lines) == {"a (measured)", f"floor: {FLOOR} (measured)", "b (measured)"}
    assert lines["a (measured)"].x == (1.0, 2.0)
    assert lines["a (measured)"].error_y.array == pytest.approx((0.0, 0.05))
    assert [line.line.color == GREY for line in lines.values()] == [FLOOR in name for name in lines]
    assert "code abd, torch 2" in lines["a (measured)"].customdata[0][0]
    assert "&lt;b&gt;" in lines[f"floor: {FLOOR} (measured)"].customdata[0][0]


def test_settings_of_a_method_are_lines_of_their_own() -> None:
    figure = go.Figure()
    draw_measured(figure, measured_points(pd.concat([ROWS, pd.DataFrame([row("a", 10.0, 0.6, 0, line="a from scratch, bound 10")])])))
    lines = {line.name: line.x for line in figure.data}
    assert lines["a (measured)"] == (1.0, 2.0)
    assert lines["a from scratch (measured)"] == (10.0,)


def test_the_references_are_the_ceiling_and_the_best_public_model() -> None:
    references = measured_references(ROWS)
    assert references["ceiling"] == pytest.approx(0.96)
    assert references["epsilon_zero"] == pytest.approx(1.6 / 3)
    assert references["ceiling_releasable"] is False
    assert references["epsilon_zero_releasable"] is False
    assert measured_references(ROWS.iloc[:0]) == {}


def test_the_table_and_the_note_name_the_recipe() -> None:
    points = measured_points(ROWS)
    assert {entry["Source"] for entry in measured_rows(points)} == {"measured, recipe mine"}
    assert "workbench reproduce mine --reuse" in measured_note(points)[0]
    assert measured_note(points.iloc[:0]) == []


def test_a_line_without_a_bound_has_no_place_on_the_axis() -> None:
    points = measured_points(pd.concat([ROWS, pd.DataFrame([row("a", math.inf, 0.95, 0)])]))
    assert points["epsilon"].max() == 5.0
    assert len(points) == len(measured_points(ROWS))


@pytest.mark.parametrize(
    ("series", "method", "expected"),
    [("dpdm from scratch", "dpdm", "dpdm from scratch"), ("sound, public teacher", "dp-sad", "dp-sad, sound, public teacher")],
)
def test_a_series_says_whose_it_is(series: str, method: str, expected: str) -> None:
    assert with_method(series, method) == expected
