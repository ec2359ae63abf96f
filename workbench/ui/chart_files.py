"""A chart as files: its numbers as CSV, a picture as PNG without a browser, and a page that opens without installation."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from workbench.escaping import spreadsheet_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as DrawnFigure

DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)), "longdashdot": (0, (8, 3, 1, 3))}
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P", "x": "X", "star": "*", "hexagon": "h",
    "triangle-down": "v", "triangle-right": ">", "pentagon": "p", "line-ew": "_", "line-ns": "|",
}  # fmt: skip
INCHES, RESOLUTION = (8.0, 5.0), 150
TEXT, CROWDED, MANY = 11, 9, 12  # points: for the last row, and where more names than so many would run into one another
PIXELS_AN_INCH = 115.0  # of a chart that is taller on the page: it is taller in its picture too


def csv(table: pd.DataFrame) -> str:
    """The numbers of a chart; no cell is taken for a formula by a spreadsheet."""
    safe = table.map(lambda cell: spreadsheet_cell(cell) if isinstance(cell, str) else cell)
    return safe.to_csv(index=False)


def png(figure: go.Figure, title: str) -> bytes:
    """The chart as matplotlib draws it: lines, points with intervals, bars, histograms and squares, as they are on the page.

    A chart of several panels is one picture of them.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"text.parse_math": False, "font.size": TEXT}):
        spec, traces = figure.to_plotly_json(), list[Any](figure.data)
        height = max(INCHES[1], spec["layout"].get("height", 0) / PIXELS_AN_INCH)
        drawn = Figure(figsize=(INCHES[0], height), dpi=RESOLUTION, layout="constrained")
        panels = list(dict.fromkeys((str(trace.xaxis or "x"), str(trace.yaxis or "y")) for trace in traces)) or [("x", "y")]
        if len(panels) == 1:
            axes = drawn.subplots()
            _panel(axes, figure, spec["layout"], traces, panels[0])
            _notes(axes, figure)
            axes.set_title(title, fontsize=TEXT, wrap=True)
        else:
            _panels(drawn, figure, spec["layout"], panels)
            drawn.suptitle(title, fontsize=TEXT, wrap=True)
        file = io.BytesIO()
        drawn.savefig(file, format="png")
    return file.getvalue()


def _panel(axes: Axes, figure: go.Figure, layout: Mapping[str, Any], traces: Sequence[Any], panel: tuple[str, str]) -> None:
    """The traces of one panel, whose axes are called "x" or "x2", "y" or "y2", .., with their lines and legend."""
    bars = [trace for trace in traces if trace.type == "bar"]
    for trace in traces:
        DRAW[str(trace.type)](axes, trace, bars)
    _axes(axes, {f"{name[0]}axis": layout.get(f"{name[0]}axis{name[1:]}", {}) for name in panel})
    _lines(axes, [shape for shape in figure.layout.shapes if {str(shape.xref).split()[0], str(shape.yref).split()[0]} & {*panel}])
    if any(trace.name and trace.showlegend is not False for trace in traces) and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=_points(axes.get_legend_handles_labels()[1]))


def _panels(drawn: DrawnFigure, figure: go.Figure, layout: Mapping[str, Any], panels: Sequence[tuple[str, str]]) -> None:
    """Panels row by row, as many in a row as on the page; each under its title, the note of its number."""
    columns = len({tuple(layout[f"xaxis{x[1:]}"]["domain"]) for x, _ in panels})
    grid = drawn.subplots(-(-len(panels) // columns), columns, squeeze=False, sharex=True, sharey=True).flatten()
    for axes, panel, note in zip(grid, panels, figure.layout.annotations, strict=False):
        own = [trace for trace in list[Any](figure.data) if (str(trace.xaxis or "x"), str(trace.yaxis or "y")) == panel]
        _panel(axes, figure, layout, own, panel)
        axes.set_title(str(note.text), fontsize=TEXT)
        axes.tick_params(labelbottom=True)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)


def _points(names: Sequence[Any]) -> int:
    """The size of as many names."""
    return TEXT if len(names) <= MANY else CROWDED


def _scatter(axes: Axes, trace: Any, _bars: Sequence[Any]) -> None:
    mode, colour = trace.mode or "lines", (trace.line.color or trace.marker.color) if trace.line else trace.marker.color
    line = DASHES.get(trace.line.dash or "solid", "-") if "lines" in mode else "none"
    symbol = trace.marker.symbol or "circle"
    marker = MARKERS.get(str(symbol).removesuffix("-open"), "o") if "markers" in mode else None
    style: dict[str, Any] = {"markerfacecolor": "none"} if str(symbol).endswith("-open") else {}
    x, y = _values(trace.x), _values(trace.y)
    if isinstance(colour, list | tuple):  # a point each: no line joins them
        filled: dict[str, Any] = {"facecolors": "none", "edgecolors": colour} if style and marker != "|" else {"color": colour}
        axes.scatter(x, y, s=0.5 * (trace.marker.size or 8) ** 2, marker=marker, label=_label(trace), zorder=3, **filled)
        _texts(axes, trace, x, y)
        return
    style |= {"drawstyle": "steps-post"} if trace.line.shape == "hv" else {}
    style |= {"alpha": trace.opacity} if trace.opacity is not None else {}
    first = colour if isinstance(colour, str) else None
    axes.plot(x, y, linestyle=line, marker=marker, color=first, label=_label(trace), linewidth=1.6, markersize=6, **style)
    for name, error in (("xerr", trace.error_x), ("yerr", trace.error_y)):
        if error is not None and error.array is not None:
            up = _values(error.array)
            down = up if error.arrayminus is None else _values(error.arrayminus)
            ends: dict[str, Any] = {name: [down, up]}
            axes.errorbar(x, y, fmt="none", ecolor=first, capsize=2, linewidth=1, **ends)
    _texts(axes, trace, x, y)


def _texts(axes: Axes, trace: Any, x: Sequence[Any], y: Sequence[Any]) -> None:
    """The words at points, where a trace has them."""
    if "text" in (trace.mode or "") and trace.text is not None:
        for at, height, text in zip(x, y, trace.text, strict=False):
            axes.annotate(str(text), (at, height), fontsize=_points(trace.text), xytext=(4, 0), textcoords="offset points", va="center")


def _bar(axes: Axes, trace: Any, bars: Sequence[Any]) -> None:
    colour, x, y = trace.marker.color, _values(trace.x), _values(trace.y)
    if trace.orientation == "h":  # stacked: each begins where those before it end
        before = [sum(_values(other.x)[place] for other in bars[: _place(bars, trace)]) for place in range(len(x))]
        axes.barh([str(name) for name in y], x, left=before, color=colour, label=_label(trace), **_hatching(trace))
        return
    width, names = 0.8 / len(bars), [str(place) for place in x] if any(isinstance(place, str) for place in x) else []
    middles = range(len(x)) if names else x
    axes.bar(
        [at + (_place(bars, trace) - (len(bars) - 1) / 2) * width for at in middles],
        y,
        width,
        color=colour,
        label=_label(trace),
        **_hatching(trace),
    )
    if names:
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=_points(names))


def _histogram(axes: Axes, trace: Any, _bars: Sequence[Any]) -> None:
    look = {"color": trace.marker.color, "alpha": trace.opacity or 1, "label": _label(trace)}
    axes.hist(_values(trace.x), bins=trace.nbinsx or 40, **look, **_hatching(trace))


def _hatching(trace: Any) -> dict[str, Any]:
    """The pattern of a trace's bars, which tells parts apart beside their colour."""
    shape = trace.marker.pattern.shape
    return {"hatch": 2 * shape, "edgecolor": "white"} if isinstance(shape, str) and shape else {}


def _heatmap(axes: Axes, trace: Any, _bars: Sequence[Any]) -> None:
    image = axes.imshow(trace.z, cmap="cividis", vmin=trace.zmin, vmax=trace.zmax, aspect="auto")
    axes.set_xticks(range(len(trace.x)), [str(name) for name in trace.x], rotation=45, ha="right", fontsize=_points(trace.x))
    axes.set_yticks(range(len(trace.y)), [str(name) for name in trace.y], fontsize=_points(trace.y))
    axes.figure.colorbar(image, ax=axes)


DRAW: dict[str, Any] = {"scatter": _scatter, "bar": _bar, "histogram": _histogram, "heatmap": _heatmap}


def _axes(axes: Axes, layout: Mapping[str, Any]) -> None:
    """Titles, logarithms, ends and named places, as the page has them."""
    for name, axis in (("x", layout.get("xaxis", {})), ("y", layout.get("yaxis", {}))):
        getattr(axes, f"set_{name}label")(str(axis.get("title", {}).get("text") or "").replace("<br>", "\n"))
        is_log, ends = axis.get("type") == "log", axis.get("range")
        if is_log:
            getattr(axes, f"set_{name}scale")("log")
            getattr(axes, f"{name}axis").set_major_formatter(lambda value, _place: f"{value:g}")
        if ends is not None and all(isinstance(end, int | float) for end in ends):
            getattr(axes, f"set_{name}lim")([10**end for end in ends] if is_log else list(ends))
        if axis.get("tickvals") is not None and axis.get("ticktext") is not None:
            getattr(axes, f"set_{name}ticks")(list(axis["tickvals"]), list(axis["ticktext"]), fontsize=_points(axis["ticktext"]))
            getattr(axes, f"{name}axis").minorticks_off()
    axes.grid(alpha=0.3)


def _lines(axes: Axes, shapes: Sequence[Any]) -> None:
    """Lines across, and upright ones."""
    for shape in shapes:
        style = {"color": shape.line.color, "linestyle": DASHES.get(shape.line.dash or "solid", "-"), "linewidth": 1.2}
        name = str(shape.name) if shape.name else None
        if shape.xref == "x domain" or str(shape.xref).endswith("domain"):
            axes.axhline(shape.y0, label=name, **style)
        else:
            axes.axvline(shape.x0, label=name, **style)


def _notes(axes: Axes, figure: go.Figure) -> None:
    """The words beside lines; on a logarithmic axis of the page they stand at a logarithm."""
    for note in figure.layout.annotations:
        across, up = note.xref == "paper", note.yref == "paper"
        x = note.x if across or axes.get_xscale() != "log" else 10**note.x
        y = note.y if up or axes.get_yscale() != "log" else 10**note.y
        place = {(True, True): axes.transAxes, (False, True): axes.get_xaxis_transform(), (True, False): axes.get_yaxis_transform()}
        anchors = {"ha": note.xanchor or "center", "va": note.yanchor if note.yanchor in ("top", "bottom") else "center"}
        axes.text(x, y, str(note.text), fontsize=TEXT, transform=place.get((across, up), axes.transData), **anchors)


def _values(values: Any) -> list[Any]:
    """Numbers of a trace, nothing as a gap; what is no number as it is."""
    return [math.nan if value is None else value for value in values] if values is not None else []


def _label(trace: Any) -> str | None:
    return str(trace.name) if trace.name and trace.showlegend is not False else None


def _place(bars: Sequence[Any], trace: Any) -> int:
    return next(number for number, bar in enumerate(bars) if bar is trace)


def chart_file(figure: go.Figure, alt: str, table: pd.DataFrame) -> str:
    """A page with the chart and its numbers, which fetches nothing."""
    from workbench.ui.part_files import panel_file
    from workbench.ui.parts import Chart

    title = str(figure.layout.yaxis.title.text or figure.layout.xaxis.title.text or "A chart").replace("<br>", " ")
    return panel_file(title, alt, [Chart("chart", figure, alt, table)])
