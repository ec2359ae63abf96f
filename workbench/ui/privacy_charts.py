"""Charts of what is claimed, proved and measured: the three numbers on one axis, and the privacy profile."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.profile import PrivacyProfile
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.theme import BLUE, EXACT, GREEN, GREY, VERMILION, accountant_line


class OnAxis(NamedTuple):
    """A number on the axis of epsilon, and what it is."""

    name: str
    epsilon: float


FAR = 0.6  # of an axis: farther to the right, a number stands on the left of its point
LOOKS = {  # colour and symbol by the first word of a name
    "paper's": (VERMILION, "diamond-open"),
    "upper": (BLUE, "square"),
    "measured": (GREEN, "circle"),
    "ceiling": (GREY, "circle-open"),
}


def numbers_on_axis(numbers: Sequence[OnAxis], key: str) -> None:
    """Every number on one logarithmic axis of epsilon, an infinite one at its right edge."""
    finite = [one.epsilon for one in numbers if math.isfinite(one.epsilon)]
    low, high = min([0.1, *(max(value, charts.SMALLEST_EPSILON) for value in finite)]), max([10.0, *finite])
    edge = 10.0 ** math.ceil(math.log10(3 * high))

    def side(place: float) -> str:
        """Where a number is whole in a narrow window: on the left of what stands far to the right."""
        return "middle left" if math.log10(place / low) > FAR * math.log10(edge / low) else "middle right"

    figure = charts.empty_figure("Epsilon (log scale)", "")
    for one in reversed(numbers):
        colour, symbol = LOOKS.get(one.name.split()[0].rstrip(","), (GREY, "circle"))
        place = edge if math.isinf(one.epsilon) else max(one.epsilon, charts.SMALLEST_EPSILON)
        figure.add_scatter(
            x=[place], y=[one.name], mode="markers+text", text=[f"  {number(one.epsilon, 4)}  "], textposition=side(place), name=one.name,
            marker={"size": 14, "color": colour, "symbol": symbol, "line": {"width": 2, "color": colour}}, showlegend=False,
            hovertemplate=f"{one.name}: {number(one.epsilon, 4)}<extra></extra>",
        )  # fmt: skip
    powers = range(math.floor(math.log10(low)), round(math.log10(edge)))
    ticks = [10.0**power for power in powers]
    figure.update_xaxes(
        type="log", tickvals=[*ticks, edge], ticktext=[*(f"{tick:g}" for tick in ticks), "∞"],
        range=[math.log10(low) - 0.15, math.log10(edge) + 0.35],
    )  # fmt: skip
    figure.update_layout(height=90 + 42 * len(numbers))
    alt = "Epsilon of " + "; ".join(f"{one.name}: {number(one.epsilon, 4)}" for one in numbers)
    charts.show(figure, alt, pd.DataFrame([one._asdict() for one in numbers]), key)


def profile_chart(profile: PrivacyProfile, key: str) -> None:
    """Delta over epsilon by every accountant; the table has the mu of each delta too."""
    figure = charts.empty_figure("Epsilon", "Delta (log scale)")
    for name in sorted(ACCOUNTANTS, key=lambda name: ACCOUNTANTS[name].status != "proved"):  # dashed on top, as it may agree with a bound
        points = [(point.accountants.get(name), point.delta) for point in profile.points]
        curve = [(epsilon, delta) for epsilon, delta in points if epsilon is not None and math.isfinite(epsilon)]
        if curve:
            exact = ACCOUNTANTS[name].status != "proved" and profile.mu_is == "exact"
            title, line = accountant_line(f"{name}{EXACT}" if exact else name)
            figure.add_scatter(x=[one for one, _ in curve], y=[two for _, two in curve], name=title, mode="lines+markers", line=line)
    figure.update_yaxes(type="log", dtick=1)
    figure.update_xaxes(rangemode="tozero")
    rows = [
        {"delta": point.delta, "proved epsilon": point.bound, **point.accountants, "mu at this delta": point.mu} for point in profile.points
    ]
    alt = f"Delta over epsilon: from epsilon {number(profile.points[0].bound)} at delta 0.1 to {number(profile.points[-1].bound)}"
    charts.show(figure, alt, pd.DataFrame(rows), key)
