"""A measure of compared runs as dots with intervals: what is drawn, beside which lines, with which marks, and the table above."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from pages.reading import elements, opened
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.pages.runs.intervals import dots_with_intervals, interval_table
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.ui.chart_files import chart_file, png
from workbench.ui.formats import number
from workbench.ui.looks import look_of
from workbench.ui.runs import results_of, run_label

OpenPage = Callable[..., AppTest]
ACCURACY, COPYING = "Accuracy, logistic regression", "Nearer to training in classifier (trained on glyphs)"


@pytest.fixture
def pair(home_with_runs: object) -> list[Run]:
    """The runs of the prepared home, newest first."""
    return RunStore(here()).list()


def result(**values: Any) -> dict[str, Any]:
    return {"name": "accuracy_logistic_regression", "value": 0.5, "interval": None, "features": "labels"} | values


def charts_of(app: AppTest) -> list[str]:
    return [one.proto.alt for one in elements(app.main) if one.type == "plotly_chart" and "compared runs" in one.proto.alt]


def test_a_dot_a_run_with_its_interval_in_the_look_of_its_method(pair: list[Run]) -> None:
    figure = dots_with_intervals([(pair[0], result(interval=[0.4, 0.7])), (pair[1], result(value=0.25))], ACCURACY)
    first, second = figure.data
    assert (first.x, first.y, second.x, second.y) == ((0.5,), (1,), (0.25,), (0,)), "the first run is on top"
    assert (first.error_x.array[0], first.error_x.arrayminus[0]) == (pytest.approx(0.2), pytest.approx(0.1))
    assert second.error_x.array is None
    assert (first.marker.color, first.marker.symbol) == look_of("dp-merf")
    assert list(figure.layout.yaxis.ticktext) == [f"dp-merf {pair[0].id}", f"dp-merf {pair[1].id} (example)"]
    assert list(figure.layout.yaxis.tickvals) == [1, 0]
    assert figure.layout.xaxis.range == (0, 1)
    assert figure.layout.xaxis.title.text == f"{ACCURACY} (private)"
    releasable = dots_with_intervals([(pair[0], result(name="inception_score", releasable=True))], "Inception score")
    assert (releasable.layout.xaxis.title.text, releasable.layout.xaxis.range) == ("Inception score (releasable)", None)


def test_each_run_stands_on_the_lines_that_it_is_held_against(pair: list[Run]) -> None:
    public = {"epsilon_zero": 0.3, "epsilon_zero_releasable": True}
    figure = dots_with_intervals([(pair[0], result(ceiling=0.9) | public), (pair[1], result(ceiling=0.8))], ACCURACY)
    lines = {line.name: line for line in figure.data if line.mode == "lines"}
    assert list(lines) == ["real training data (private)", "epsilon 0, public data only (releasable)"]
    ceiling, zero = lines.values()
    assert (ceiling.x, ceiling.y) == ((0.9, 0.9, None, 0.8, 0.8, None), (1.5, 0.5, None, 0.5, -0.5, None))
    assert (zero.x, zero.y) == ((0.3, 0.3, None), (1.5, 0.5, None))
    assert ceiling.line.dash != zero.line.dash
    mixed = dots_with_intervals([(pair[0], result() | public), (pair[1], result(epsilon_zero=0.3))], ACCURACY)
    assert mixed.data[0].name == "epsilon 0, public data only (private)", "if one of them is"


def test_the_table_of_the_chart_has_every_number_with_its_mark(pair: list[Run]) -> None:
    measured = [(pair[0], result(interval=[0.4, 0.7], ceiling=0.9)), (pair[1], result(value="inf", releasable=True))]
    first, second = interval_table(measured).to_dict("records")
    assert (first["Value"], first["Low"], first["High"], first["Mark"]) == (0.5, 0.4, 0.7, "private")
    assert (first["real training data"], first["Mark of real training data"]) == (0.9, "private")
    assert first["Upper bound"] == pair[0].bound.epsilon
    assert (second["Value"], second["Mark"], second["Mark of real training data"]) == (math.inf, "releasable", "–")
    assert dots_with_intervals(measured, ACCURACY).data[2].x == (None,), "what is infinite has no place on the axis"


def test_the_files_of_the_chart_have_its_intervals(pair: list[Run]) -> None:
    wide, narrow = (dots_with_intervals([(pair[0], result(interval=interval))], ACCURACY) for interval in ([0.1, 0.9], [0.45, 0.55]))
    assert png(wide, "A title") != png(narrow, "A title")
    assert f"<h1>{ACCURACY} (private)</h1>" in chart_file(wide, "Dots", interval_table([(pair[0], result())]))


def test_the_measure_of_the_address_is_drawn_and_another_can_be_picked(open_page: OpenPage, pair: list[Run]) -> None:
    chosen = list(map(run_label, pair))
    assert charts_of(open_page("runs", runs_chosen=chosen)) == [f"{ACCURACY} of 2 compared runs with 95 % intervals"]
    app = open_page("runs", runs_chosen=chosen, runs_measure=COPYING)
    assert charts_of(app) == [f"{COPYING} of 2 compared runs with 95 % intervals"]
    app.selectbox(key="runs_measure").set_value(ACCURACY).run()
    assert charts_of(app)[0].startswith(ACCURACY)
    (table,) = [shown.value for shown in opened(app).dataframe if "real training data" in shown.value]
    assert table["Value"].tolist() == [results_of(run.id)[0]["value"] for run in pair]


def test_the_table_of_measures_has_intervals(open_page: OpenPage, pair: list[Run]) -> None:
    row = results_of(pair[0].id)[0]
    app = open_page("runs", runs_chosen=[run.id for run in pair])
    accuracies = app.dataframe[1].value.set_index("Measure").loc[ACCURACY]
    low, high = map(number, row["interval"])
    assert accuracies.iloc[0].startswith(f"{number(row['value'])} (private), 95 %: {low} to {high}; largest class")


def test_runs_that_nobody_evaluated_have_no_chart(open_page: OpenPage, pair: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.pages.runs.intervals.results_of", lambda _: [])
    app = open_page("runs", runs_chosen=[run.id for run in pair])
    assert charts_of(app) == []
    assert not [box for box in app.selectbox if box.key == "runs_measure"]
