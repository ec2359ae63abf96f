"""The picture of a recipe's results: a measure against the proved bound, a panel a dataset where there are several."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.marks import mark
from workbench.recipes.report import Line, ceilings, mean_of, public_models

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(panels: Mapping[str, Sequence[Line]], path: Path, title: str, measure: str, spread: bool = False) -> None:
    """Write a picture with a panel for each of `panels`, by its heading: the measure against the proved bound, every run a point, the
    references as lines; with `spread`, a bar of mean and deviation where a line has several runs."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a title is text: a dollar in it begins no formula
        _draw(panels, path, title, measure, spread)


def _draw(panels: Mapping[str, Sequence[Line]], path: Path, title: str, measure: str, spread: bool) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), dpi=150, layout="constrained")
    columns = figure.subplots(1, len(panels), squeeze=False)[0]
    methods = _method_numbers([line for lines in panels.values() for line in lines])
    for axes, (heading, lines) in zip(columns, panels.items(), strict=True):
        _references(axes, lines)
        _points(axes, lines, methods, spread)
        axes.set_title(heading)
        axes.set_xlabel("proved bound on epsilon")
        axes.grid(axis="y", alpha=0.3)
    everything = [line for lines in panels.values() for line in lines]
    columns[0].set_ylabel(f"{measure.replace('_', ' ')} ({mark(all(line.releasable for line in everything))})")
    figure.suptitle(title)
    if entries := _legend_entries(columns):
        add_legend(figure, list(entries), list(entries.values()))
    figure.savefig(path)


def _references(axes: Axes, lines: Sequence[Line]) -> None:
    """Real training data and epsilon 0 as lines across."""
    ceiling = all(line.ceiling_releasable for line in lines if line.ceiling)
    styles = cycle(PUBLIC_STYLES)
    references = (
        ("real training data", ceilings(lines), ceiling, "-"),
        *((f"epsilon 0: {label}", values, public, next(styles)) for label, values, public in public_models(lines)),
    )
    for label, values, releasable, style in references:
        mean = mean_of(values)
        if mean is not None:
            axes.axhline(mean, color="#555555", linestyle=style, linewidth=1, label=f"{label} ({mean:.3f}, {mark(releasable)})")


def _points(axes: Axes, lines: Sequence[Line], methods: Mapping[str, int], spread: bool) -> None:
    """Every run as a point of its method at its bound, with `spread` a bar a line; those without a bound on the right."""
    finite = [line.bound for line in lines if math.isfinite(line.bound)]
    right = 3.0 * max(finite, default=10.0)
    for number, method in enumerate(dict.fromkeys(line.method for line in lines)):
        aside = 1.0 + 0.06 * (number - 1)  # so that methods at one bound stand side by side
        at = [(aside * (line.bound if math.isfinite(line.bound) else right), line) for line in lines if line.method == method]
        points = [(place, value) for place, line in at for value in line.values]
        if points:
            place = methods[method]
            marker, colour = MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]
            axes.scatter(*zip(*points, strict=True), marker=marker, s=36, color=colour, alpha=0.8, label=method)
            for place, line in at if spread else []:
                if len(line.values) > 1:
                    axes.errorbar(place, statistics.fmean(line.values), statistics.stdev(line.values), fmt="_", color=colour, capsize=4)
    ticks = {bound: f"{bound:g}" for bound in sorted({float(f"{bound:.2g}") for bound in finite})}
    if len(finite) < len(lines):
        ticks[right] = "no bound"
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), list(ticks.values()), minor=False)
    axes.xaxis.set_minor_locator(_no_ticks())
    axes.set_xlim(0.6 * min(finite, default=right), 1.8 * max(ticks, default=right))


def _legend_entries(columns: Sequence[Axes]) -> dict[str, Artist]:
    """What a legend shows by its label: each method once, the references of every panel."""
    return {label: handle for axes in columns for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}


def add_legend(figure: Figure, labels: Sequence[str], handles: Sequence[Artist] | None = None) -> None:
    """Put a legend of these labels below, of `handles` if given; in as many columns as fit, from the third row on the picture grows."""
    columns = legend_columns(labels)
    figure.set_figheight(figure.get_figheight() + ROW_INCHES * max(0, math.ceil(len(labels) / columns) - 2))
    shown = {} if handles is None else {"handles": handles, "labels": labels}
    figure.legend(fontsize=8, loc="outside lower center", ncols=columns, **shown)


def legend_columns(labels: Sequence[str]) -> int:
    """How many columns of a legend in a picture's width hold the longest label; 1 to 3."""
    return min(3, max(1, LETTERS_ACROSS // (max(map(len, labels)) + LETTERS_OF_SYMBOL)))


LETTERS_ACROSS, LETTERS_OF_SYMBOL, ROW_INCHES = 110, 6, 0.17  # of a legend at font size 8 in a picture of 7.2 inches
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # distinct to colour-blind eyes (Okabe and Ito)
MARKERS = "o^sDvP"
PUBLIC_STYLES = ("--", ":", "-.", (0, (5, 1)), (0, (1, 3)))  # of epsilon 0's lines


def _method_numbers(lines: Sequence[Line]) -> dict[str, int]:
    """The methods' numbers, by which they have marker and colour."""
    return {method: number for number, method in enumerate(dict.fromkeys(line.method for line in lines))}


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
