"""Charts of tables: a small one for each column, how far each is off, and how much pairs of columns have to do with each other."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.escaping import html_text, markdown
from workbench.evaluation.side_by_side import Apart
from workbench.ui import charts
from workbench.ui.theme import BLUE, GREY, VERMILION

NAMES = {"samples": ("samples", BLUE, ""), "real": ("real rows (private)", VERMILION, "/")}
LEAST_WIDTH, LEAST_WIDTH_OF_PAIRS = 320, 460
PARTS_OF_APART = {"alone": ("the column alone", VERMILION, ""), "pairs": ("its pairs", BLUE, "/"), "triples": ("its triples", GREY, "x")}
LONGEST = 18  # letters of a category below a chart
SLANTED = 40  # letters of all categories that fit below a small chart side by side


def small_multiples(columns: Mapping[str, pd.DataFrame], prefix: str) -> None:
    """A chart for each column, of the shares of its categories among samples and, where they are told, real rows."""
    with st.grid(columns="auto", min_column_width=LEAST_WIDTH, border=True):
        for place, (name, frame) in enumerate(columns.items()):
            with st.container():
                st.markdown(f"**{markdown(name)}**{_apart(frame)}")
                alt = f"Shares of the categories of {name} among {' and '.join(NAMES[part][0] for part in frame.columns[1:])}"
                table = frame.rename(columns={part: label for part, (label, _, _) in NAMES.items()})
                charts.show(shares_chart(frame), alt, table, f"{prefix}column_{place}")


def shares_chart(frame: pd.DataFrame) -> go.Figure:
    """Bars side by side, a pair a category."""
    figure = charts.empty_figure("", "")
    texts = [html_text(text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}..") for text in frame["category"]]
    for part in frame.columns[1:]:
        label, colour, pattern = NAMES[part]
        marker = {"color": colour, "pattern": {"shape": pattern}}
        figure.add_bar(
            x=list(range(len(frame))), y=frame[part].tolist(), name=label, marker=marker, customdata=[[text] for text in texts],
            hovertemplate="%{customdata[0]}: %{y:.3f}",
        )  # fmt: skip
    angle = -45 if sum(map(len, texts)) > SLANTED else None  # slanted to the other side, the last one would not fit
    figure.update_xaxes(tickvals=list(range(len(frame))), ticktext=texts, title=None, tickangle=angle)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title=None)
    figure.update_layout(height=230, barmode="group", showlegend=len(frame.columns) > 2)
    return figure


def distances(gaps: Apart, prefix: str) -> None:
    """How far each column is off from the real rows, alone, in pairs and in triples; and each pair."""
    with st.grid(columns="auto", min_column_width=LEAST_WIDTH_OF_PAIRS, border=True):
        with st.container():
            st.markdown("**Each column, and the mean of the pairs and triples with it (private)**")
            alt = "Total variation distance of each column, of its pairs and of its triples between samples and real rows (private)"
            table = gaps.columns.rename(columns={part: label for part, (label, _, _) in PARTS_OF_APART.items()})
            charts.show(columns_apart_chart(gaps.columns), alt, table, f"{prefix}apart")
        with st.container():
            st.markdown("**Each pair; a column alone on the diagonal (private)**")
            alt = "Total variation distance of every two columns between samples and real rows (private)"
            table = gaps.pairs.reset_index(names="column")
            charts.show(squares_chart(gaps.pairs, float(gaps.pairs.to_numpy().max())), alt, table, f"{prefix}pairs_apart")


def columns_apart_chart(columns: pd.DataFrame) -> go.Figure:
    """Bars side by side, three a column, the target first."""
    figure, names = charts.empty_figure("", ""), [html_text(str(name)) for name in columns["column"]]
    for part, (label, colour, pattern) in PARTS_OF_APART.items():
        marker = {"color": colour, "pattern": {"shape": pattern}}
        figure.add_bar(x=names, y=columns[part].tolist(), name=label, marker=marker, hovertemplate="%{x}: %{y:.3f}")
    figure.update_xaxes(title=None, tickangle=-45)
    figure.update_yaxes(rangemode="tozero", title=None)
    figure.update_layout(height=440, barmode="group", showlegend=True)
    return figure


def pairs(named: Mapping[str, pd.DataFrame], prefix: str) -> None:
    """A picture of the associations of each, side by side."""
    with st.grid(columns="auto", min_column_width=LEAST_WIDTH_OF_PAIRS, border=True):
        for place, (name, matrix) in enumerate(named.items()):
            with st.container():
                st.markdown(f"**{markdown(name.capitalize())}**")
                alt = f"Cramer's V of every two columns among {name}"
                charts.show(squares_chart(matrix, 1.0), alt, matrix.reset_index(names="column"), f"{prefix}pairs_{place}")


def squares_chart(matrix: pd.DataFrame, most: float) -> go.Figure:
    """A square a pair, the lighter the more, from 0 to `most`; columns from top to bottom as from left to right."""
    figure, names = charts.empty_figure("", ""), [html_text(str(name)) for name in matrix.columns]
    template = "%{y} and %{x}: %{z:.3f}<extra></extra>"
    figure.add_heatmap(z=matrix.to_numpy(), x=names, y=names, zmin=0, zmax=most, colorscale="Cividis", hovertemplate=template)
    figure.update_xaxes(title=None, tickangle=-45)
    figure.update_yaxes(title=None, autorange="reversed")
    figure.update_layout(height=440)
    return figure


def _apart(frame: pd.DataFrame) -> str:
    """The total variation distance of the shares, which is private; nothing where there is one side alone."""
    if "real" not in frame:
        return ""
    return f" · total variation {(frame['samples'] - frame['real']).abs().sum() / 2:.3f} (private)"
