"""A measure of several runs as dots with their intervals, a row a run, beside what real records and public data alone come to."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.escaping import html_text
from workbench.evaluation import METRICS
from workbench.marks import mark, may_leave
from workbench.pages.runs.tables import axis_title, run_heading
from workbench.runs.run import Run
from workbench.runs.trained import as_shown
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.looks import look_of
from workbench.ui.runs import as_float, results_of
from workbench.ui.theme import GREY

ROW_HEIGHT, BESIDE_ROWS = 46, 130  # pixels
REFERENCES = {
    "ceiling": ("real training data", "solid"),
    "epsilon_zero": ("epsilon 0, public data only", "dash"),
    "largest_class": ("largest class of held-out records", "dot"),
}
Result = Mapping[str, Any]
Measured = Sequence[tuple[Run, Result]]  # runs, each with its result in one measure


def compare_intervals(runs: Sequence[Run], prefix: str) -> None:
    """One chart of a measure that the visitor picks and the address keeps; nothing where no run has been evaluated."""
    axes = measured_axes(runs)
    if not axes:
        return
    title = st.selectbox("Measure", list(axes), key=f"{prefix}measure", bind="query-params")
    measured = axes[title]
    table = interval_table(measured)
    alt = f"{title} of {len(measured)} compared runs with 95 % intervals"
    charts.show(dots_with_intervals(measured, title), alt, table, f"{prefix}intervals")


def measured_axes(runs: Sequence[Run]) -> dict[str, list[tuple[Run, Result]]]:
    """Runs with their results by the title of an axis; results in different features do not share one."""
    axes: dict[str, list[tuple[Run, Result]]] = {}
    for run in map(as_shown, runs):
        for row in results_of(run.id):
            if as_float(row["value"]) is not None:
                axes.setdefault(axis_title(row), []).append((run, row))
    return axes


def dots_with_intervals(measured: Measured, title: str) -> go.Figure:
    """The value of each run in its own row, first on top, in the look of its method, on the lines that it is held against."""
    figure = charts.empty_figure(f"{title} ({mark(all(may_leave(row, 'value') for _, row in measured))})", "")
    heights = range(len(measured) - 1, -1, -1)
    for field, (name, dash) in REFERENCES.items():
        _reference(figure, f"{name} ({mark(_all_may_leave(measured, field))})", dash, [_finite(row.get(field)) for _, row in measured])
    for height, (run, row) in zip(heights, measured, strict=True):
        _dot(figure, run, row, height)
    names = [html_text(name) for name in _names(measured)]
    figure.update_yaxes(range=[-0.5, len(measured) - 0.5], tickvals=list(heights), ticktext=names, automargin=True)
    metric = METRICS.get(measured[0][1]["name"])
    figure.update_xaxes(range=[0, 1] if metric and metric.is_fraction else None)
    figure.update_traces(cliponaxis=False)  # a dot at 0 or 1 is whole
    figure.update_layout(height=BESIDE_ROWS + ROW_HEIGHT * len(measured), showlegend=True)
    return figure


def interval_table(measured: Measured) -> pd.DataFrame:
    """The numbers of the chart, each with its mark."""
    rows = []
    for name, (run, row) in zip(_names(measured), measured, strict=True):
        low, high = row.get("interval") or (None, None)
        numbers = {"Value": row["value"], "Low": low, "High": high}
        beside = {words: row.get(field) for field, (words, _) in REFERENCES.items()}
        marks = {f"Mark of {words}": _mark(row, field) for field, (words, _) in REFERENCES.items()}
        shown = {words: as_float(value) for words, value in (numbers | beside).items()}
        rows.append({"Run": name, "Upper bound": run.bound.epsilon} | shown | {"Mark": _mark(row, "value")} | marks)
    return pd.DataFrame(rows)


def _names(measured: Measured) -> list[str]:
    """The runs' names, with their datasets where these differ."""
    several = len({run.dataset for run, _ in measured}) > 1
    return [run_heading(run) + (f", {run.dataset}" if several else "") for run, _ in measured]


def _mark(row: Result, field: str) -> str:
    return "–" if row.get(field) is None else mark(may_leave(row, field))


def _all_may_leave(measured: Measured, field: str) -> bool:
    return all(may_leave(row, field) for _, row in measured if row.get(field) is not None)


def _finite(value: Any) -> float | None:
    """A number that has a place on an axis."""
    shown = as_float(value)
    return shown if shown is not None and math.isfinite(shown) else None


def _dot(figure: go.Figure, run: Run, row: Result, height: int) -> None:
    colour, symbol = look_of(run.method)
    value = _finite(row["value"])
    low, high = map(_finite, row.get("interval") or (None, None))
    error: dict[str, Any] = {}
    if value is not None and low is not None and high is not None:
        error = {"error_x": {"array": [high - value], "arrayminus": [value - low], "color": colour, "thickness": 2, "width": 5}}
    figure.add_scatter(
        x=[value], y=[height], mode="markers", marker={"symbol": symbol, "size": 11, "color": colour}, showlegend=False,
        name=html_text(run_heading(run)), hovertemplate=f"{number(value)}<extra>%{{fullData.name}}</extra>", **error,
    )  # fmt: skip


def _reference(figure: go.Figure, name: str, dash: str, values: Sequence[float | None]) -> None:
    """What each run is held against, an upright line through its own row: one line where it is the same for all."""
    x: list[float | None] = []
    y: list[float | None] = []
    for height, value in zip(range(len(values) - 1, -1, -1), values, strict=True):
        if value is not None:
            x += [value, value, None]
            y += [height + 0.5, height - 0.5, None]
    if x:
        line = {"color": GREY, "width": 1.5, "dash": dash}
        figure.add_scatter(x=x, y=y, mode="lines", line=line, name=name, hovertemplate="%{x:.4g}")
