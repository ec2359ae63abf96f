"""Charts: what is drawn is what the table says; an approximation looks like one; infinity keeps a place."""

import math
import tomllib

import pandas as pd
import plotly.graph_objects as go
import pytest

from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.published import load_published
from workbench.runs.dossier.figures import LINES
from workbench.server import start
from workbench.ui import charts
from workbench.ui.charts import ReferenceLine
from workbench.ui.looks import look_of
from workbench.ui.theme import EXACT, GREY, SERIES, STATUS_WORDS, accountant_line


def trace(figure: go.Figure, part: str) -> go.Scatter:
    """The one trace whose name contains `part`."""
    traces = [item for item in figure.data if part in item.name]
    assert len(traces) == 1
    return traces[0]


def own_points(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["method", "epsilon", "value", "low", "high", "label"])


def test_an_axis_of_a_share_ends_at_0_and_1() -> None:
    chance = [ReferenceLine("chance", 0.1)]
    printed, mine = load_published("digits"), own_points(("dp-merf", 1.0, 0.9, 0.8, 1.0, "mine"))
    for own in (own_points(), mine):
        assert charts.utility_chart(own, printed, chance, "Accuracy", fraction=True).layout.yaxis.range == (0, 1)
    assert charts.utility_chart(mine, printed, chance, "FID", fraction=False).layout.yaxis.range is None


def test_gdp_is_dashed_and_called_an_approximation() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0] * 2, "accountant": ["gdp"] * 2 + ["pld"] * 2, "epsilon": [3.0, 1.0, 3.2, 1.1]})
    figure = charts.accountant_curves(frame, "x", "Noise multiplier", target=2.0, chosen=1.5)
    assert trace(figure, "GDP").line.dash == "dash"
    assert "approximation, may under-report" in trace(figure, "GDP").name
    assert trace(figure, "PLD").line.dash == "solid"
    assert "upper bound" in trace(figure, "PLD").name
    notes = {note.text: note for note in figure.layout.annotations}
    assert notes["target 2"].y == pytest.approx(math.log10(2.0))
    assert notes["this plan 1.5"].x == 1.5


def test_probabilities_are_powers_of_ten_and_no_micro() -> None:
    frame = pd.DataFrame({"false_positive_rate": [1e-4, 1.0], "blind guessing": [1e-4, 1.0]})
    layout = charts.tradeoff_curves(frame, "blind guessing").layout
    assert (layout.xaxis.exponentformat, layout.yaxis.exponentformat) == ("power", "power")


def test_an_infinite_epsilon_is_a_gap_in_a_curve() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "accountant": ["rdp"] * 2, "epsilon": [math.inf, 4.0]})
    assert trace(charts.accountant_curves(frame, "x", "Steps"), "RDP").y == (None, 4.0)


def test_published_points_are_hollow_and_say_source_and_protocol() -> None:
    printed = load_published("mnist", "accuracy_cnn")
    figure = charts.utility_chart(own_points(), printed, [], "Accuracy, CNN", True)
    points = [item for item in figure.data if "published" in item.name]
    assert sum(len(item.x) for item in points) == len(printed)
    assert all(item.marker.symbol.endswith("-open") for item in points)
    hover = trace(figure, "DP-MERF").customdata[0][0]
    assert "dp-promise 2024, Table 2" in hover
    assert "delta 1e-5" in hover
    assert "60k synthetic" in hover


def test_what_two_sources_measured_of_a_method_are_two_series() -> None:
    figure = charts.utility_chart(own_points(), load_published("mnist", "fid"), [], "FID", False)
    printed, benchmark = trace(figure, "DP-MERF (published, dp-promise 2024)"), trace(figure, "DP-MERF (published, DPImageBench")
    assert "delta 1e-5" in printed.customdata[0][0]
    assert "delta 1/(n ln n)" in benchmark.customdata[0][0]
    log = trace(figure, "Feta-Pro repository log").customdata[0][0]
    assert "mnist_28_eps" in log
    assert "Table mnist" not in log


def test_a_published_method_has_its_own_colour_and_what_is_not_picked_is_grey_with_one_entry() -> None:
    printed = load_published("mnist", "fid")
    coloured = charts.utility_chart(own_points(), printed, [], "FID", False)
    assert trace(coloured, "DP-MERF (published, dp-promise 2024)").marker.color == look_of("dp-merf")[0]
    assert len({(item.marker.color, item.marker.symbol) for item in coloured.data}) == len(coloured.data)
    figure = charts.utility_chart(own_points(), printed, [], "FID", False, ["dp-merf"])
    grey = [item for item in figure.data if item.marker.color == GREY]
    assert {item.name for item in grey} == {"published, of other methods"}
    assert [item.showlegend for item in grey].count(True) == 1
    assert {item.marker.color for item in figure.data if item not in grey} == {look_of("dp-merf")[0]}
    assert sum(len(item.x) for item in figure.data) == len(printed)


def test_an_accountant_has_one_colour_on_the_pages_and_in_a_dossier() -> None:
    for name, (colour, _dash) in LINES.items():
        assert accountant_line(name)[1]["color"] == colour


def test_own_runs_are_filled_at_their_epsilon_with_their_interval() -> None:
    own = own_points(("dp-merf", 10.0, 0.8, 0.75, 0.84, "run a"))
    figure = charts.utility_chart(own, load_published("digits"), [ReferenceLine("chance", 0.1)], "Accuracy", True)
    point = trace(figure, "your runs")
    assert point.x == (10.0,)
    assert point.error_y.array[0] == pytest.approx(0.04)
    assert point.error_y.arrayminus[0] == pytest.approx(0.05)
    assert [(line.name, line.showlegend, line.y0) for line in figure.layout.shapes] == [("chance: 0.1", True, 0.1)]


def test_infinity_stands_at_the_right_edge_with_its_sign() -> None:
    own = own_points(("nonprivate", math.inf, 0.9, 0.9, 0.9, "x"), ("dp-merf", 60.0, 0.8, 0.8, 0.8, "y"))
    figure = charts.utility_chart(own, load_published("digits"), [], "Accuracy", True)
    place = trace(figure, "nonprivate").x[0]
    assert place > 60.0
    assert figure.layout.xaxis.tickvals[-1] == place
    assert figure.layout.xaxis.ticktext[-1] == "∞"
    assert figure.layout.xaxis.range[1] > math.log10(place)


def contrast(colour: str, background: str) -> float:
    """WCAG 2 contrast ratio of two sRGB colours."""

    def luminance(text: str) -> float:
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(colour), luminance(background)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> dict[str, str]:
    """The server's settings of a theme."""
    settings = tomllib.loads(start.SETTINGS.read_text())["theme"]
    assert "base" not in settings, "or the system's choice would not hold"
    return settings[request.param]


def test_text_and_accent_colours_have_enough_contrast(theme: dict[str, str]) -> None:
    for ground in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        for colour in (theme["linkColor"], theme["textColor"], mixed(theme["textColor"], ground, 0.75)):
            assert contrast(colour, ground) >= 4.5
        assert contrast(theme["primaryColor"], ground) >= 3
    assert contrast(theme["primaryColor"], "#ffffff") >= 3, "its buttons have large white words"


def mixed(colour: str, ground: str, opacity: float) -> str:
    """What text of such an opacity looks like."""
    parts = [(int(colour[place : place + 2], 16), int(ground[place : place + 2], 16)) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * over + (1 - opacity) * under):02x}" for over, under in parts)


def test_every_line_of_a_chart_is_told_from_the_ground_of_either_theme(theme: dict[str, str]) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0] * 2, "accountant": ["gdp"] * 2 + ["pld"] * 2, "epsilon": [3.0, 1.0, 3.2, 1.1]})
    figure = charts.accountant_curves(frame, "x", "Noise multiplier", target=2.0, chosen=1.5)
    drawn = [line.line.color for line in figure.data] + [shape.line.color for shape in figure.layout.shapes]
    assert len(drawn) == 4
    assert all(contrast(colour, theme["backgroundColor"]) >= 3 for colour in [*drawn, GREY])
    assert all(contrast(colour, theme["backgroundColor"]) >= 2 for colour in SERIES)


def test_text_and_ground_of_a_chart_are_left_to_the_theme() -> None:
    """What the server names here keeps its colour when another theme is chosen in the browser, which asks the server nothing."""
    layout = charts.empty_figure("x", "y").layout
    named = [layout.paper_bgcolor, layout.plot_bgcolor, layout.font.color, layout.xaxis.gridcolor, layout.xaxis.title.font.color]
    assert named == [None] * 5


def test_lines_stay_apart_without_colour() -> None:
    frame = pd.DataFrame({"run": ["a", "b", "c"], "step": [1, 1, 1], "loss": [1.0, 2.0, 3.0]})
    figure = charts.step_curves(frame, "loss", "Loss")
    assert len({item.line.dash for item in figure.data}) == 3


def test_an_axis_always_has_numbers() -> None:
    for values, kind in (([0.98, 1.01], None), ([0.1, 1.0], "log")):
        frame = pd.DataFrame({"run": ["a", "a"], "step": [1, 2], "loss": values})
        assert charts.step_curves(frame, "loss", "Loss", logarithmic=True).layout.yaxis.type == kind


def test_every_series_and_accountant_has_a_colour_of_its_own() -> None:
    assert len(set(SERIES)) == len(SERIES)
    names = [*ACCOUNTANTS, f"gdp{EXACT}"]
    assert len({accountant_line(name)[1]["color"] for name in names}) == len(names)


def test_only_a_proof_is_called_an_upper_bound() -> None:
    assert [status for status, text in STATUS_WORDS.items() if "upper bound" in text] == ["proved"]
