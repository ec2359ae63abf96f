"""Small multiples: a panel a method, in its colour, with the others behind it; on the page and as a picture."""

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from workbench.ui import charts
from workbench.ui.chart_files import png
from workbench.ui.looks import looks_of
from workbench.ui.multiples import panels_by_method, spoken

LINES = [charts.ReferenceLine("real records", 0.95, "solid"), charts.ReferenceLine("epsilon 0", 0.3)]
METHODS = ["aim", "dp-merf", "dpdm", "pearl"]


def table() -> pd.DataFrame:
    rows = [
        {"method": method, "epsilon": epsilon, "value": 0.1 * place + 0.2, "low": 0.15, "high": 0.7, "label": f"{method} at {epsilon}"}
        for place, method in enumerate(METHODS)
        for epsilon in (1.0, 10.0, float("inf"))
    ]
    return pd.DataFrame(rows)


def test_each_panel_has_its_method_in_its_colour_and_all_others_in_grey() -> None:
    figure = panels_by_method(table(), LINES, "Accuracy", True)
    assert [note.text for note in figure.layout.annotations] == METHODS
    looks = looks_of(METHODS)
    for place, method in enumerate(METHODS):
        others, own = figure.data[2 * place], figure.data[2 * place + 1]
        assert (others.xaxis, others.yaxis) == (own.xaxis, own.yaxis)
        assert (own.name, own.marker.color, own.marker.symbol) == (method, *looks[method])
        assert (len(own.x), len(others.x), others.marker.color) == (3, 9, charts.GREY)
        assert list(own.y) == pytest.approx(3 * [0.1 * place + 0.2])
    assert len({trace.xaxis for trace in figure.data}) == len(METHODS)
    assert len(figure.layout.shapes) == len(LINES) * len(METHODS)
    assert all(axis.range[1] > 1 for axis in figure.select_xaxes()), "infinity has a place at the right edge"


def test_the_picture_has_the_panels_and_their_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = panels_by_method(table(), LINES, "Accuracy", True)
    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *given, **named: (drawn.append(self), save(self, *given, **named))[1])
    picture = np.asarray(Image.open(io.BytesIO(png(figure, "A sweep"))).convert("RGB"))
    panels = [axes for axes in drawn[0].axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == METHODS
    assert {axes.get_xscale() for axes in panels} == {"log"}
    assert [len(lines_across(axes)) for axes in panels] == [2, 2, 2, 2]
    for colour, _ in looks_of(METHODS).values():
        wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
        assert (np.abs(picture.astype(int) - wanted).max(axis=2) < 12).sum() > 20


def lines_across(axes: Any) -> list[float]:
    return [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]


def test_the_lines_are_said_in_words() -> None:
    assert spoken(LINES) == "solid line: real records, 0.95; dashed line: epsilon 0, 0.3"
