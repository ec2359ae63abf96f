"""Figures from tables: pure functions of a DataFrame, told apart by dash and symbol as well as by colour.

An infinite epsilon has a place of its own at the right edge of an epsilon axis, marked ∞; it is never dropped.
"""

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from textwrap import wrap
from typing import Any, cast

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.escaping import html_text
from workbench.ui.chart_files import chart_file, csv, png
from workbench.ui.formats import number
from workbench.ui.looks import SYMBOLS, look_of, looks_of
from workbench.ui.on_demand import on_demand
from workbench.ui.part_files import NO_UPLOAD
from workbench.ui.theme import BLUE, GREY, SERIES, TEXT, VERMILION, accountant_line, is_bound

SMALLEST_EPSILON = 1e-3
TITLE_WIDTH = 40  # characters that stand below a chart of a narrow window
TICKED = 5.0  # a range of this ratio holds two of 1, 2 and 5 times a power of ten
MOST_POWERS = 6  # of ten, whose numbers stand one above the other without touching
MIMES = {"csv": "text/csv", "png": "image/png", "html": "text/html"}
TAKEN_AWAY = ["lasso2d", "select2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "toImage"]  # a long toolbar covers the legend beside it
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


@dataclass(frozen=True)
class ReferenceLine:
    """A horizontal line: what it means and where it lies."""

    label: str
    value: float
    dash: str = "dash"


def show(figure: go.Figure, alt: str, table: pd.DataFrame, key: str, **selection: Any) -> Any:
    """Draw `figure` with a description for screen readers; under it the same numbers as a table, and files of it, once it is opened.

    `selection` is how points may be selected, as `st.plotly_chart` takes it; returns what it returns.
    """
    config = {**NO_UPLOAD, "modeBarButtonsToRemove": TAKEN_AWAY}
    event = st.plotly_chart(figure, key=key, alt=alt, config=config, **selection)
    on_demand("View as table, or save", f"{key}_numbers", partial(_numbers, figure, alt, table, key))
    return event


def _numbers(figure: go.Figure, alt: str, table: pd.DataFrame, key: str) -> None:
    st.dataframe(table, hide_index=True, alt=f"Numbers of the chart: {alt}")
    save(figure, alt, table, key)


def save(figure: go.Figure, alt: str, table: pd.DataFrame, key: str) -> None:
    """Buttons that make a file of a chart when they are pressed: its numbers, a picture, and a page that opens anywhere."""
    making = {"csv": lambda: csv(table), "png": lambda: png(figure, alt), "html": lambda: chart_file(figure, alt, table)}
    with st.container(horizontal=True, gap="small"):
        for ending, make in making.items():
            st.download_button(ending.upper(), make, f"{key}.{ending}", MIMES[ending], key=f"{key}_{ending}", on_click="ignore")


def accountant_curves(frame: pd.DataFrame, x: str, x_title: str, target: float | None = None, chosen: float | None = None) -> go.Figure:
    """Epsilon against `x`, a line per accountant; the target a horizontal line, the chosen configuration a vertical one.

    `frame` has columns `x`, `accountant` (a name of ACCOUNTANTS, with EXACT after it where it is exact) and `epsilon`; rows without a
    finite epsilon are gaps.
    """
    figure, logarithmic = empty_figure(x_title, "Epsilon"), _wide(frame[x].tolist())
    for accountant, rows in frame.groupby("accountant", sort=False):
        title, line = accountant_line(str(accountant))
        heights = [value if math.isfinite(value) else None for value in rows["epsilon"].tolist()]
        figure.add_scatter(x=rows[x].tolist(), y=heights, name=title, mode="lines", line=line, hovertemplate="%{y:.4g}")
    if target is not None:
        figure.add_hline(target, line={"color": GREY, "width": 1.5, "dash": "dot"})
        _note(figure, f"target {number(target)}", y=math.log10(target), yref="y", x=1, xref="paper", xanchor="right", yanchor="bottom")
    if chosen is not None:
        figure.add_vline(chosen, line={"color": GREY, "width": 1})
        place = math.log10(chosen) if logarithmic else chosen
        _note(figure, f"this plan {number(chosen)}", x=place, xref="x", y=1, yref="paper", xanchor="left", yanchor="top")
    figure.update_xaxes(type="log" if logarithmic else "linear")
    figure.update_yaxes(type="log", range=_useful_range(frame, target), tickformat=".3~g", dtick="D2")
    figure.update_layout(hovermode="x unified")
    return figure


def utility_chart(
    own: pd.DataFrame,
    published: pd.DataFrame,
    lines: Sequence[ReferenceLine],
    measure: str,
    fraction: bool,
    picked: Collection[str] | None = None,
) -> go.Figure:
    """One measure against epsilon: own runs filled, published points hollow, reference values as horizontal lines, named first.

    `own` has columns method, epsilon, value, low, high, label; `published` those of `workbench.published`. The published
    points stand at the epsilon their source prints. A method has one colour, own or published; published points of methods that are not
    `picked` (all are, if None) are grey, with one entry in the legend.
    """
    figure = empty_figure("Epsilon (log scale)", measure)
    epsilons = [*own["epsilon"].tolist(), *published["epsilon"].tolist()]
    ticks, edge = epsilon_axis(epsilons)
    several, others = published["source"].nunique() > 1, 0
    taken: set[tuple[str, str]] = set()
    for key, rows in published.groupby(["method_id", "method", "source"], sort=True):  # each by its own protocol
        identity, method, source = (str(part) for part in cast("tuple[Hashable, Hashable, Hashable]", key))
        is_picked = picked is None or identity in picked
        colour, symbol = look_of(identity) if is_picked else (GREY, "circle")
        if is_picked:
            symbol = next((one for one in (symbol, *SYMBOLS) if (colour, one) not in taken), symbol)
            taken.add((colour, symbol))
        others += not is_picked
        name = f"{method} (published{f', {source}' * several})" if is_picked else "published, of other methods"
        _published_points(figure, name, rows, edge, symbol, colour, shows_name=is_picked or others == 1)
    looks = looks_of(sorted(own["method"].astype(str).unique()))
    for method, rows in own.groupby("method", sort=True):  # points of their own, never joined: each has its protocol on hover
        _own_points(figure, str(method), rows, edge, looks[str(method)])
    for line in lines:
        text = f"{html_text(line.label)}: {number(line.value)}"
        figure.add_hline(line.value, line={"color": GREY, "width": 1.5, "dash": line.dash}, name=text, showlegend=True, legendrank=1)
    figure.update_xaxes(type="log", **ticks)
    empty = own.empty and published.empty and not lines
    figure.update_yaxes(tickformat=".2f" if fraction else None, range=[0, 1] if empty or fraction else None)
    figure.update_traces(cliponaxis=False)  # a point at 0 or 1 is whole
    figure.update_layout(height=560, showlegend=True, legend={"maxheight": 0.4})  # above: beside, it would leave a narrow window no room
    return figure


def step_curves(frame: pd.DataFrame, y: str, y_title: str, logarithmic: bool = False) -> go.Figure:
    """`y` against training step, a line per value of column `run`; steps of different stages follow one another.

    A logarithmic axis is a plain one where it would have no two numbers on it.
    """
    figure = empty_figure("Step", y_title)
    for (run, rows), colour, dash in zip(frame.groupby("run", sort=False), cycle(SERIES), cycle(DASHES), strict=False):
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_scatter(
            x=rows["step"].tolist(), y=rows[y].tolist(), name=html_text(run), mode="lines", line=line, hovertemplate="%{y:.4g}"
        )
    if not logarithmic:
        figure.update_yaxes(rangemode="tozero")
    elif _wide(frame[y].tolist(), TICKED):
        figure.update_yaxes(type="log", tickformat=".3~g", dtick="D2")
    figure.update_layout(showlegend=frame["run"].nunique() > 1, height=280, hovermode="x unified")
    return figure


def distance_histogram(training: Sequence[float], held_out: Sequence[float], title: str) -> go.Figure:
    """Distances of generated records to their nearest training and held-out record, one over the other."""
    figure = empty_figure(title, "Generated records")
    named = {"nearest training record": (training, VERMILION, ""), "nearest held-out record": (held_out, BLUE, "/")}
    for name, (values, colour, pattern) in named.items():
        marker = {"color": colour, "pattern": {"shape": pattern}}
        figure.add_histogram(x=list(values), name=name, marker=marker, opacity=0.65, nbinsx=40)
    figure.update_layout(barmode="overlay", height=280)
    return figure


def tradeoff_curves(frame: pd.DataFrame, dashed: str) -> go.Figure:
    """True-positive against false-positive rate, both logarithmic: a line for each column beside `false_positive_rate`."""
    figure = empty_figure("False-positive rate", "True-positive rate")
    names = [name for name in frame.columns if name != "false_positive_rate"]
    for name, colour in zip(names, (GREY, BLUE, VERMILION), strict=False):
        line = {"color": colour, "dash": "dash" if name == dashed else "solid", "width": 2.5}
        figure.add_scatter(x=frame["false_positive_rate"].tolist(), y=frame[name].tolist(), name=html_text(name), mode="lines", line=line)
    figure.update_xaxes(type="log", range=[-4, 0], dtick=1).update_yaxes(type="log", range=[-4, 0.05], dtick=1)
    figure.update_traces(hovertemplate="%{y:.3g}")
    figure.update_layout(hovermode="x unified")
    return figure


def empty_figure(x_title: str, y_title: str) -> go.Figure:
    """Two titled axes without a line yet; text, grid and ground are the page's own, by the theme that the browser shows."""
    figure = go.Figure()
    figure.update_layout(
        xaxis={"exponentformat": "power", "title": {"text": "<br>".join(map(html_text, wrap(x_title, TITLE_WIDTH)))}, "linecolor": GREY},
        yaxis={"exponentformat": "power", "title": {"text": html_text(y_title)}, "linecolor": GREY},
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        height=380,
        font={"size": TEXT},
        legend={"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom", "font": {"size": TEXT}},
    )
    return figure


def logarithmic(figure: go.Figure, low: float, high: float) -> None:
    """A logarithmic axis of values from `low` to `high`, a number at each power of ten or each second; what lies beyond runs out of it."""
    ends = [math.log10(low), math.log10(high)]
    figure.update_yaxes(type="log", range=ends, dtick=1 if ends[1] - ends[0] <= MOST_POWERS else 2)


def _note(figure: go.Figure, text: str, **place: Any) -> None:
    """A word beside a line; on a logarithmic axis a note stands at the logarithm of its value, unlike a line."""
    figure.add_annotation(text=text, showarrow=False, **place)


def _published_points(figure: go.Figure, name: str, rows: pd.DataFrame, edge: float, symbol: str, colour: str, *, shows_name: bool) -> None:
    points = rows.to_dict("records")
    figure.add_scatter(
        x=[place_of(point["epsilon"], edge) for point in points],
        y=[point["value"] for point in points],
        error_y={"array": [point["std"] for point in points], "color": colour, "thickness": 1, "width": 3},
        mode="markers",
        marker={"symbol": f"{symbol}-open", "size": 9, "color": colour, "line": {"width": 1.5, "color": colour}},
        customdata=[[_protocol(point)] for point in points],
        hovertemplate="%{customdata[0]}<br>%{y:.4g}<extra></extra>",
        name=name,
        showlegend=shows_name,
        legendgroup=name,
    )


def _protocol(point: dict[Hashable, Any]) -> str:
    """Hover text of a published point: what was trained, at which printed epsilon, where it stands and how it was measured."""
    public = ", with public data" if point["public_data"] else ""
    delta = f", delta {point['delta']}" if point["delta"] else ""
    lines = [
        f"<b>{point['method']}</b> {point['variant']}".strip(),
        f"printed epsilon {number(point['epsilon'])}{delta}{public}",
        place_in(point),
        str(point["note"]),
    ]
    return "<br>".join("<br>".join(wrap(line, 60)) for line in lines if line)


def place_in(point: Mapping[Hashable, Any]) -> str:
    """Where a published row stands: its source, and the table or file in it."""
    table = str(point["table"])
    return f"{point['source']}, {f'Table {table}' if table.isdigit() else table}"


def _own_points(figure: go.Figure, method: str, rows: pd.DataFrame, edge: float, look: tuple[str, str]) -> None:
    colour, symbol = look
    points = rows.sort_values("epsilon").to_dict("records")
    figure.add_scatter(
        x=[place_of(point["epsilon"], edge) for point in points],
        y=[point["value"] for point in points],
        error_y={
            "array": [point["high"] - point["value"] for point in points],
            "arrayminus": [point["value"] - point["low"] for point in points],
            "color": colour,
            "thickness": 1.5,
        },
        mode="markers",
        marker={"size": 13, "color": colour, "symbol": symbol, "line": {"width": 1}},
        customdata=[[html_text(point["label"])] for point in points],
        hovertemplate="<b>%{customdata[0]}</b><br>%{y:.4g}<extra></extra>",
        name=f"{html_text(method)} (your runs)",
    )


def _infinity(epsilons: Sequence[float]) -> float:
    """Where ∞ stands on an axis: the power of ten at least a factor of five above every finite value."""
    finite = [value for value in epsilons if math.isfinite(value)]
    return 10.0 ** math.ceil(math.log10(5 * max([10.0, *finite])))


def epsilon_axis(epsilons: Sequence[float]) -> tuple[dict[str, Any], float]:
    """Ticks and range of a logarithmic axis of these epsilons, and where ∞ stands on it."""
    edge = _infinity(epsilons)
    return _epsilon_ticks(edge, epsilons), edge


def place_of(epsilon: float, edge: float) -> float:
    """Where an epsilon stands on such an axis."""
    return edge if math.isinf(epsilon) else max(epsilon, SMALLEST_EPSILON)


def _epsilon_ticks(edge: float, epsilons: Sequence[float]) -> dict[str, Any]:
    low = min([0.1, *[max(value, SMALLEST_EPSILON) for value in epsilons if math.isfinite(value)]])
    decades = range(math.floor(math.log10(low)), round(math.log10(edge)))
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5) if factor * 10.0**decade < edge / 1.5]
    texts = [f"{tick:g}" if tick < 1e4 else number(tick) for tick in ticks]
    return {"tickvals": [*ticks, edge], "ticktext": [*texts, "∞"], "range": [math.log10(low) - 0.15, math.log10(edge) + 0.15]}


def _useful_range(frame: pd.DataFrame, target: float | None) -> list[float]:
    """Logarithms of an epsilon range that shows the proved curves and the target; the approximation may run out of it."""
    bounds = [name for name in frame["accountant"].unique() if is_bound(str(name))]
    shown = frame.loc[frame["accountant"].isin(bounds), "epsilon"].tolist() or frame["epsilon"].tolist()
    values = [value for value in [*shown, target or math.nan] if math.isfinite(value) and value > 0] or [0.1, 10.0]
    return [math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1]


def _wide(values: Sequence[float], ratio: float = 20.0) -> bool:
    return min(values) > 0 and max(values) / min(values) > ratio
