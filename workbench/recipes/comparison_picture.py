"""A comparison's picture: one measure against another, a series of points for lines whose names begin alike, with error bars."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from workbench.recipes.directions import Picture
from workbench.recipes.findings import values_of
from workbench.recipes.picture import COLOURS, MARKERS, add_legend

NEAR = 0.07  # of the picture's width and height: two labels at this distance cover one another


class Point(NamedTuple):
    """Mean and standard deviation of a line in both measures over the seeds that have both; `label` is the end of its name."""

    label: str
    across: float
    up: float
    across_deviation: float
    up_deviation: float


def series(picture: Picture, results: Sequence[Mapping[str, Any]]) -> dict[str, list[Point]]:
    """The lines called "series, label", series by series in order."""
    across, up = values_of(results, picture.across), values_of(results, picture.up)
    lines: dict[str, list[Point]] = {}
    for name in across:
        if seeds := sorted(across[name].keys() & up.get(name, {}).keys()):
            beginning, _, label = name.rpartition(", ")
            lines.setdefault(beginning, []).append(_point(label, *([values[name][seed] for seed in seeds] for values in (across, up))))
    return lines


def told_of(results: Sequence[Mapping[str, Any]], measure: str) -> str:
    """The measure's name, and where it is a distance, the features in which it was taken."""
    from workbench.evaluation import METRICS

    entries = (entry for result in results for entry in result["evaluation"]["results"] if entry["name"] == measure)
    spaces = sorted({entry["features"] for entry in entries}) if measure in METRICS and METRICS[measure].in_features else []
    return f"{measure} in {' or '.join(spaces)}" if spaces else measure


def draw(picture: Picture, results: Sequence[Mapping[str, Any]], path: Path, title: str) -> None:
    """Write the picture as a PNG."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a title is text: a dollar in it begins no formula
        _draw((told_of(results, picture.across), told_of(results, picture.up)), series(picture, results), path, title)


def _draw(axis_names: tuple[str, str], lines: Mapping[str, Sequence[Point]], path: Path, title: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    for number, (name, points) in enumerate(lines.items()):
        _, across, up, across_deviation, up_deviation = zip(*points, strict=True)
        style = {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)], "capsize": 2, "linewidth": 1}
        axes.errorbar(across, up, xerr=across_deviation, yerr=up_deviation, label=name, **style)
    for (across, up), words in labels([point for points in lines.values() for point in points]).items():
        axes.annotate(words, (across, up), textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.set_xlabel(f"{axis_names[0].replace('_', ' ')} (private)")
    axes.set_ylabel(f"{axis_names[1].replace('_', ' ')} (private)")
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    if lines:
        add_legend(figure, list(lines))
    figure.savefig(path)


def labels(points: Sequence[Point]) -> dict[tuple[float, float], str]:
    """What stands at which place: points nearer to one another than `NEAR` of the picture share a place, the first's, and their labels."""
    if not points:
        return {}
    spans = [max(values) - min(values) or 1.0 for values in ([point.across for point in points], [point.up for point in points])]
    placed: dict[tuple[float, float], list[str]] = {}
    for point in points:
        near = (at for at in placed if abs(at[0] - point.across) < NEAR * spans[0] and abs(at[1] - point.up) < NEAR * spans[1])
        words = placed.setdefault(next(near, (point.across, point.up)), [])
        if point.label not in words:
            words.append(point.label)
    return {at: ", ".join(words) for at, words in placed.items()}


def _point(label: str, across: Sequence[float], up: Sequence[float]) -> Point:
    deviations = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in (across, up)]
    return Point(label, statistics.fmean(across), statistics.fmean(up), *deviations)
