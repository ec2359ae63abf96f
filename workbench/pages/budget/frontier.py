"""What the workbench's own methods reached, on the utility chart: a line a method or setting, its runs on hover."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Hashable
from itertools import cycle
from statistics import fmean
from textwrap import wrap
from typing import Any, cast

import pandas as pd
import plotly.graph_objects as go

from workbench.escaping import html_text
from workbench.evaluation import PROTOCOLS
from workbench.evaluation.protocols import OWN
from workbench.marks import MARKS, mark
from workbench.measured import FLOOR
from workbench.pages.budget.points import protocol_of
from workbench.ui.charts import DASHES
from workbench.ui.formats import duration, number
from workbench.ui.looks import look_of
from workbench.ui.theme import GREY

COLUMNS = ("method", "epsilon", "value", "low", "high", "line", "recipe", "protocol", "about")
NOTE = (
    "Points show the mean and range of our reference runs, placed at their proved epsilon. `workbench reproduce {recipes} --reuse` trains "
    "them again. Hover over a point to read seeds, samples, time and code version."
)

Row = dict[Hashable, Any]
_BOUND = re.compile(r", bound [0-9.]+|( \(floor\))$")


def measured_points(rows: pd.DataFrame) -> pd.DataFrame:
    """One point a line of a recipe, of rows of `workbench.measured` that have one measure, smallest bound first; none without a bound.

    Columns are `COLUMNS`: value is the mean of the line's runs, low and high are their range, about a tuple of sentences.
    """
    lines: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows.to_dict("records"):  # tables of a few rows each are slow to group
        lines[row["recipe"], row["line"], protocol_of(row)].append(row)
    points = [_point(runs) for runs in lines.values() if math.isfinite(runs[0]["bound"])]
    return pd.DataFrame(sorted(points, key=lambda point: point[1]), columns=list(COLUMNS))


def draw_measured(figure: go.Figure, points: pd.DataFrame, picked: Collection[str] | None = None) -> None:
    """Add the points of `measured_points` to the chart of utility; what differs in more than the bound is not joined, the floor is grey.

    Lines of methods that are not `picked` (all are, if None) are thin and grey, and the legend has none of them. A method has its own
    colour and symbol on every chart.
    """
    dashes = cycle(DASHES)
    for key, rows in points.groupby(["method", points["line"].map(series_of), "protocol"], sort=False):
        method, series, protocol = (str(part) for part in cast("tuple[Hashable, Hashable, Hashable]", key))
        is_picked = picked is None or method in picked
        colour, symbol = look_of(method) if is_picked else (GREY, "line-ew" if method == FLOOR else "circle")
        figure.add_scatter(
            x=rows["epsilon"].tolist(),
            y=rows["value"].tolist(),
            error_y={
                "array": (rows["high"] - rows["value"]).tolist(),
                "arrayminus": (rows["value"] - rows["low"]).tolist(),
                "color": colour,
                "thickness": 1,
                "width": 3,
            },
            mode="lines+markers",
            line={"color": colour, "width": 2 if is_picked else 1, "dash": "dashdot" if method == FLOOR else next(dashes)},
            marker={"symbol": symbol, "size": 8 if is_picked else 5, "color": colour},
            opacity=1 if is_picked else 0.45,
            showlegend=is_picked,
            customdata=[[_hover(point)] for point in rows.to_dict("records")],
            hovertemplate="%{customdata[0]}<br>%{y:.4g}<extra></extra>",
            name=f"{'floor: ' * (method == FLOOR)}{html_text(with_method(series, method))} ({measured_by(protocol)})",
        )


def frontier(points: pd.DataFrame, better: str) -> list[str]:
    """Methods that some epsilon speaks for: none other reaches as much at no larger bound. In the order of their smallest bound."""
    sign = -1.0 if better == "lower" else 1.0
    methods: list[str] = []
    best = -math.inf
    for _, rows in points.sort_values("epsilon", kind="stable").groupby("epsilon", sort=False):
        top = rows.loc[(sign * rows["value"]).idxmax()]
        if sign * float(top["value"]) > best:
            best = sign * float(top["value"])
            methods.append(str(top["method"]))
    return list(dict.fromkeys(methods))


def series_of(line: str) -> str:
    """What a recipe's line is called without its bound: "dpdm from scratch" of "dpdm from scratch, bound 10"."""
    return _BOUND.sub("", line)


def with_method(series: str, method: str) -> str:
    """A series' name, and whose it is where it does not say so itself."""
    return series if method in series else f"{method}, {series}"


def measured_by(protocol: str) -> str:
    """What the legend says of a line's points: nothing of the workbench's own protocol."""
    return "measured" if protocol == PROTOCOLS[OWN].title else f"measured, {protocol}"


def measured_references(rows: pd.DataFrame) -> dict[str, Any]:
    """Ceiling and epsilon-0 value, each with its mark: of the public models the best one, by the mean over a method's runs."""
    references: dict[str, Any] = {}
    known = rows.to_dict("records")
    ceilings, public = ([row for row in known if not math.isnan(row[name])] for name in ("ceiling", "epsilon_zero"))
    if ceilings:
        references |= {"ceiling": fmean(row["ceiling"] for row in ceilings), MARKS["ceiling"]: False}
    if public:
        best = max(fmean(row["epsilon_zero"] for row in public if row["method"] == name) for name in {row["method"] for row in public})
        references |= {"epsilon_zero": best, MARKS["epsilon_zero"]: all(row["epsilon_zero_mark"] == mark(True) for row in public)}
    return references


def measured_rows(points: pd.DataFrame) -> list[dict[str, str]]:
    """The points as rows of the chart's table."""
    return [
        {
            "Source": f"measured, recipe {point['recipe']}",
            "Method": point["line"],
            "Epsilon": number(point["epsilon"]),
            "Value": number(point["value"]),
            "Protocol": "; ".join([point["protocol"], *point["about"]]),
        }
        for point in points.to_dict("records")
    ]


def measured_note(points: pd.DataFrame) -> list[str]:
    """A sentence on the points, where there are any."""
    return [NOTE.format(recipes=" or ".join(sorted(set(points["recipe"]))))] if len(points) else []


def _point(runs: list[Row]) -> tuple[Any, ...]:
    first, values = runs[0], [run["value"] for run in runs]
    bound = max(run["bound"] for run in runs)
    return (
        first["method"],
        bound,
        fmean(values),
        min(values),
        max(values),
        first["line"],
        first["recipe"],
        protocol_of(first),
        _about(runs, bound),
    )


def _about(runs: list[Row], bound: float) -> tuple[str, ...]:
    """Bound, spread, protocol, cost and code of a line's runs."""
    first, values = runs[0], [run["value"] for run in runs]
    seeds, codes = ", ".join(run["seed"] for run in runs if run["seed"]), ", ".join(sorted({run["code"] for run in runs}))
    made = f"{len(runs)} run{'s' * (len(runs) > 1)}{f', seed {seeds}' if seeds else ''}"
    public = [run["epsilon_zero"] for run in runs if not math.isnan(run["epsilon_zero"])]
    return (
        f"proved bound {number(bound)} at delta {number(first['delta'])}, {first['relation'].replace('_', '-').lower()}",
        f"{made}: {number(min(values))} to {number(max(values))} ({first['mark']}), {first['num_samples']:,} samples",
        f"its public model alone: {number(fmean(public))} ({first['epsilon_zero_mark']})" if public else "no public model",
        f"{duration(fmean(run['seconds'] for run in runs))} to train, {first['threads']} threads of {first['processor']}",
        f"code {codes}, torch {first['torch']}",
    )


def _hover(point: Row) -> str:
    lines = [f"{point['line']}, recipe {point['recipe']}", str(point["protocol"]), *point["about"]]
    return "<br>".join("<br>".join(html_text(part) for part in wrap(line, 60)) for line in lines)
