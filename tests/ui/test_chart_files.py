"""A chart as files: the same numbers, a picture of the same traces, a page that fetches nothing."""

import io

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from workbench.ui import charts
from workbench.ui.chart_files import chart_file, csv, png


def drawn(figure: go.Figure) -> np.ndarray:
    """The pixels of a figure's picture, (H, W, 3)."""
    return np.asarray(Image.open(io.BytesIO(png(figure, "A title"))).convert("RGB"))


def pixels_of(picture: np.ndarray, colour: str) -> int:
    """How many pixels have a colour, nearly."""
    wanted = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    return int((np.abs(picture.astype(int) - wanted).max(axis=2) < 12).sum())


def test_csv_has_the_numbers_and_no_formula() -> None:
    assert csv(pd.DataFrame({"name": ["=1+1"], "value": [0.5]})) == "name,value\n'=1+1,0.5\n"


def test_a_picture_has_every_kind_of_trace_in_its_colour() -> None:
    figure = charts.empty_figure("x", "y")
    figure.add_scatter(x=[1, 2, 3], y=[1, None, 3], mode="lines+markers", line={"color": charts.BLUE}, name="line")
    figure.add_scatter(
        x=[2], y=[2], mode="markers", error_y={"array": [1]}, marker={"color": charts.VERMILION, "size": 20, "symbol": "diamond-open"}
    )
    figure.add_hline(2.5, line={"color": charts.GREY, "width": 2})
    picture = drawn(figure)
    assert all(pixels_of(picture, colour) > 20 for colour in (charts.BLUE, charts.VERMILION, charts.GREY))
    bars = charts.empty_figure("x", "y").add_bar(x=["a", "b"], y=[1, 3], marker={"color": "#009e73"}, name="one")
    assert pixels_of(drawn(bars), "#009e73") > 5_000
    assert pixels_of(drawn(charts.distance_histogram([1, 2], [3, 4], "Distance")), "#e49659") > 1_000, "vermilion that lets through a third"


def test_bars_that_a_pattern_tells_apart_have_it_in_the_picture() -> None:
    def bars(pattern: str, **how: object) -> np.ndarray:
        figure = charts.empty_figure("x", "y")
        return drawn(figure.add_bar(x=[1, 3], y=["a", "b"], marker={"color": "#009e73", "pattern": {"shape": pattern}}, name="one", **how))

    for how in ({"orientation": "h"}, {}):
        assert pixels_of(bars("", **how), "#009e73") > 1.05 * pixels_of(bars("x", **how), "#009e73")


def test_words_can_be_read_from_the_last_row_and_many_names_are_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[float] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: sizes.extend(text.get_fontsize() for text in self.findobj(Text)))
    for count in (3, 30):
        figure = charts.empty_figure("x", "y").add_bar(x=[f"name {place}" for place in range(count)], y=[1] * count, name="one")
        png(figure, "A title")
        assert min(sizes) == (11 if count == 3 else 9)
        sizes.clear()


def test_a_logarithmic_axis_of_the_page_is_one_of_the_picture() -> None:
    figure = charts.empty_figure("x", "y").add_scatter(x=[1, 2], y=[1.0, 1e-3], line={"color": charts.BLUE, "width": 2})
    flat = drawn(figure)
    charts.logarithmic(figure, 1e-4, 10)
    assert (drawn(figure) != flat).any()


def test_a_chart_s_page_holds_its_numbers_and_fetches_nothing() -> None:
    figure = charts.empty_figure("Steps", "Loss").add_scatter(x=[1], y=[0.25])
    text = chart_file(figure, "Loss over steps", pd.DataFrame({"step": [1], "loss": [0.25]}))
    assert "default-src 'none'" in text
    assert "<td>0.25</td>" in text
    assert "<h1>Loss</h1>" in text
    assert "digits" not in text.rpartition("<footer>")[2], "it may be of anybody's records"
