"""Small multiples: one measure against epsilon, a panel for each method, with all the others in grey behind it."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.escaping import html_text
from workbench.ui.charts import ReferenceLine, epsilon_axis, place_of
from workbench.ui.looks import looks_of
from workbench.ui.theme import GREY, TEXT

COLUMNS = 3
PANEL_PIXELS = 230
PALE = 0.35  # opacity of what stands behind


def panels_by_method(own: pd.DataFrame, lines: Sequence[ReferenceLine], measure: str, fraction: bool) -> go.Figure:
    """A panel a method, in the order of their names, on the same axes.

    `own` has columns method, epsilon, value, low, high and label, as `charts.utility_chart`; `lines` go through every panel.
    """
    methods = sorted(own["method"].astype(str).unique())
    columns = min(COLUMNS, len(methods))
    rows = math.ceil(len(methods) / columns)
    titles = [html_text(method) for method in methods]
    figure = make_subplots(rows, columns, subplot_titles=titles, vertical_spacing=0.22 / rows)
    ticks, edge = epsilon_axis(own["epsilon"].tolist())
    looks = looks_of(methods)
    for number, method in enumerate(methods):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        others, mine = own.loc[own["method"] != method], own.loc[own["method"] == method].sort_values("epsilon")
        figure.add_scatter(
            x=[place_of(value, edge) for value in others["epsilon"]], y=others["value"].tolist(), mode="markers", hoverinfo="skip",
            marker={"size": 7, "color": GREY}, opacity=PALE, showlegend=False, **place,
        )  # fmt: skip
        colour, symbol = looks[method]
        spread = {"array": (mine["high"] - mine["value"]).tolist(), "arrayminus": (mine["value"] - mine["low"]).tolist()}
        figure.add_scatter(
            x=[place_of(value, edge) for value in mine["epsilon"]], y=mine["value"].tolist(), mode="markers", name=titles[number],
            error_y=spread | {"color": colour, "thickness": 1.5}, marker={"size": 11, "color": colour, "symbol": symbol},
            customdata=[[html_text(label)] for label in mine["label"]],
            hovertemplate="<b>%{customdata[0]}</b><br>%{y:.4g}<extra></extra>", showlegend=False, **place,
        )  # fmt: skip
    for line in lines:
        figure.add_hline(line.value, line={"color": GREY, "width": 1.5, "dash": line.dash})
    figure.update_xaxes(type="log", linecolor=GREY, automargin=True, matches="x", **few(ticks))
    figure.update_yaxes(
        tickformat=".2f" if fraction else None, range=[0, 1] if fraction else None, linecolor=GREY, automargin=True, matches="y"
    )
    figure.update_xaxes(title_text="Epsilon (log scale)", row=rows)
    figure.update_yaxes(title_text=html_text(measure), col=1, row=(rows + 1) // 2)
    figure.update_layout(height=PANEL_PIXELS * rows + 60, margin={"l": 10, "r": 10, "t": 40, "b": 10}, font={"size": TEXT})
    return figure


def few(ticks: dict[str, Any]) -> dict[str, Any]:
    """Of an axis' ticks the powers of ten and ∞, as many as a small panel has room for."""
    kept = [(at, text) for at, text in zip(ticks["tickvals"], ticks["ticktext"], strict=True) if text == "∞" or math.log10(at).is_integer()]
    return ticks | {"tickvals": [at for at, _ in kept], "ticktext": [text for _, text in kept]}


def spoken(lines: Sequence[ReferenceLine]) -> str:
    """What the lines through all panels are, in words, as small panels have no legend."""
    kinds = {"solid": "solid line", "dash": "dashed line"}
    return "; ".join(f"{kinds.get(line.dash, line.dash)}: {line.label}, {line.value:.3g}" for line in lines)
