"""The picture of many methods: a row a method, a column a measure, a colour a bound; few are drawn by `picture`."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.marks import mark
from workbench.measured import FLOOR
from workbench.recipes.picture import COLOURS, MARKERS, add_legend, draw
from workbench.recipes.report import Line, ceilings, is_below_floor, mean_of, public_models

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLAIM, SECONDS = "claim", "seconds to train"
CEILING_STYLE, PUBLIC_STYLE, FLOOR_STYLE = "-", ":", "--"
ROW_INCHES, COLUMN_INCHES, MARGIN_INCHES = 0.2, 1.9, 1.6
LETTERS_ACROSS_COLUMN = 32  # at font size 8
WIDE = 20.0  # the ratio of largest to smallest value from which an axis is logarithmic


def draw_measures(columns: Mapping[str, Sequence[Line]], path: Path, title: str, spread: bool = False) -> None:
    """Write the picture of a recipe's columns by their headings, or of the first measure over the bound where colours tell all methods.

    Of a measure that was taken in several features the latter has a panel for each of them.
    """
    columns = {heading: lines for heading, lines in columns.items() if lines}
    first = next(iter(columns.values()), [])
    if len({line.method for lines in columns.values() for line in lines}) > len(COLOURS):
        rows_of_methods(columns, title).savefig(path)
        return
    panels = {heading: lines for heading, lines in columns.items() if lines[0].measure == first[0].measure}
    measure = first[0].measure if first else ""
    draw(panels if len(panels) > 1 else {"": first}, path, title, measure, spread)


def rows_of_methods(lines: Mapping[str, Sequence[Line]], title: str) -> Figure:
    """A row for each method, best mean of the first column at the largest bound first, and columns by heading, of claims and of seconds.

    Every run is a point in the colour of its bound, the mean a bar across; what is below the floor at its bound is hollow. Lines down are
    the floor at each bound, epsilon 0 (the best of the public models) and the real training data.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    methods, bounds = _ordered(lines), _bounds(lines)
    colours = dict(zip(bounds, _colours(len(bounds)), strict=True))
    with rc_context({"text.parse_math": False, "font.size": 8}):
        size = COLUMN_INCHES * (len(lines) + 2) + MARGIN_INCHES, ROW_INCHES * len(methods) + MARGIN_INCHES
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        columns = figure.subplots(1, len(lines) + 2, sharey=True)
        for axes, (heading, own) in zip(columns, lines.items(), strict=False):
            _measure_column(axes, heading, own, methods, colours)
        everything = list({line.name: line for own in lines.values() for line in own}.values())
        _column(columns[-2], CLAIM, [(line, (line.claim,), False) for line in everything if math.isfinite(line.claim)], methods, colours)
        _column(columns[-1], SECONDS, [(line, line.seconds, False) for line in everything], methods, colours)
        columns[0].set_yticks(range(len(methods)), methods)
        columns[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.suptitle(title)
        handles = [
            *(Line2D([], [], color=colour, marker=MARKERS[0], linestyle="", label=_bound_text(bound)) for bound, colour in colours.items()),
            Line2D([], [], color="#555555", marker=MARKERS[0], linestyle="", markerfacecolor="none", label="below the floor at its bound"),
            Line2D([], [], color="#555555", linestyle=FLOOR_STYLE, label=f"floor: {FLOOR} at a bound, in its colour"),
            Line2D([], [], color="#555555", linestyle=PUBLIC_STYLE, label="epsilon 0: the best public data alone"),
            Line2D([], [], color="#555555", linestyle=CEILING_STYLE, label="real training data"),
        ]
        add_legend(figure, [str(handle.get_label()) for handle in handles], handles)
    return figure


def _bounds(lines: Mapping[str, Sequence[Line]]) -> list[float]:
    """The bounds that lines are calibrated to, largest first; what has none is infinite."""
    return sorted({_rounded(line.bound) for own in lines.values() for line in own}, reverse=True)


def _colours(count: int) -> Sequence[str]:
    """As many colours: those of methods, or where these are too few, steps from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return COLOURS[:count] if count <= len(COLOURS) else [to_hex(colormaps["viridis"](step / count)) for step in range(count)]


def _bound_text(bound: float) -> str:
    return f"bound {bound:g}" if math.isfinite(bound) else "no bound"


def _rounded(bound: float) -> float:
    return float(f"{bound:.2g}")


def _ordered(lines: Mapping[str, Sequence[Line]]) -> list[str]:
    """The methods, best mean of the first column at the largest bound first; those without a value last, in the recipe's order."""
    first = next(iter(lines.values()))
    bound = next((one for one in _bounds(lines) if math.isfinite(one)), math.inf)
    at = {line.method: statistics.fmean(line.values) for line in first if line.values and _rounded(line.bound) == bound}
    names = list(dict.fromkeys(line.method for own in lines.values() for line in own))
    return sorted(names, key=lambda name: (name not in at, -_sign(first[0].measure) * at.get(name, 0.0)))


def _sign(measure: str) -> int:
    from workbench.evaluation import METRICS

    return 1 if METRICS[measure].better == "higher" else -1


def _measure_column(axes: Axes, heading: str, lines: Sequence[Line], methods: Sequence[str], colours: Mapping[float, str]) -> None:
    from workbench.evaluation import METRICS

    measure = lines[0].measure
    better = "higher is better" if _sign(measure) > 0 else "lower is better"
    marked = mark(all(line.releasable for line in lines))
    title = "\n".join(textwrap.wrap(heading.replace("_", " "), LETTERS_ACROSS_COLUMN))
    points = [(line, line.values, is_below_floor(line, lines)) for line in lines]
    _column(axes, f"{title}\n{better} ({marked})", points, methods, colours, even=METRICS[measure].is_fraction)
    publics = [mean for _, values, _ in public_models(lines) if (mean := mean_of(values)) is not None]
    best = max(publics, key=lambda value: _sign(measure) * value, default=None)
    for value, style in ((mean_of(ceilings(lines)), CEILING_STYLE), (best, PUBLIC_STYLE)):
        if value is not None:
            axes.axvline(value, color="#555555", linestyle=style, linewidth=1)
    for line in lines:
        if line.method == FLOOR and line.values:
            axes.axvline(statistics.fmean(line.values), color=colours[_rounded(line.bound)], linestyle=FLOOR_STYLE, linewidth=1)


def _column(
    axes: Axes,
    heading: str,
    points: Sequence[tuple[Line, Sequence[float], bool]],
    methods: Sequence[str],
    colours: Mapping[float, str],
    even: bool = False,
) -> None:
    """Points of each line in its method's row, hollow where the third says so, with the mean as a bar across; `even` is not logarithmic."""
    aside = {bound: 0.18 * (2 * number / max(1, len(colours) - 1) - 1) for number, bound in enumerate(colours)}
    from matplotlib.ticker import NullLocator

    shown: list[float] = []
    for line, given, hollow in points:
        values = [value for value in given if math.isfinite(value)]
        if not values:
            continue
        shown += values
        bound = _rounded(line.bound)
        row = methods.index(line.method) + (aside[bound] if len(colours) > 1 else 0.0)
        face = "none" if hollow else colours[bound]
        axes.scatter(values, [row] * len(values), marker=MARKERS[0], s=12, edgecolors=colours[bound], facecolors=face, linewidths=0.8)
        axes.plot([statistics.fmean(values)] * 2, [row - 0.18, row + 0.18], color=colours[bound], linewidth=1.5)
    if not even and shown and min(shown) > 0 and max(shown) / min(shown) >= WIDE:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_title(heading, fontsize=8)
    axes.grid(axis="both", alpha=0.3)
