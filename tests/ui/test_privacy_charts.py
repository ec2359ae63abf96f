"""The axis of the three numbers, the privacy profile, and a span of time: all of it is legible in a narrow window."""

import math
from typing import Any

import plotly.graph_objects as go
import pytest

from workbench import datasets
from workbench.planning import make_plan
from workbench.privacy.accounting.profile import privacy_profile
from workbench.ui import charts
from workbench.ui.expected import span
from workbench.ui.privacy_charts import OnAxis, numbers_on_axis, profile_chart


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[go.Figure]:
    """The figures that are shown."""
    figures: list[go.Figure] = []

    def keep(figure: go.Figure, *_: Any) -> None:
        figures.append(figure)

    monkeypatch.setattr(charts, "show", keep)
    return figures


def test_a_number_far_to_the_right_stands_on_the_left_of_its_point(drawn: list[go.Figure]) -> None:
    numbers_on_axis([OnAxis("paper's claim", 25.0), OnAxis("upper bound", math.inf), OnAxis("measured, at least", 0.2)], "key")
    sides = {trace.name: trace.textposition for trace in drawn[0].data}
    assert sides == {"paper's claim": "middle left", "upper bound": "middle left", "measured, at least": "middle right"}


def test_the_exact_curve_is_not_hidden_by_a_bound_that_agrees_with_it(drawn: list[go.Figure]) -> None:
    plan = make_plan("class-moments", datasets.facts("digits"), epsilon=1.0)
    profile_chart(privacy_profile(plan.stages, plan.delta), "key")
    *bounds, last = drawn[0].data
    assert last.name == "GDP (exact here)"
    assert last.line.dash == "longdash"
    assert {trace.line.dash for trace in bounds} == {"solid"}


def test_a_range_of_minutes_is_short_enough_for_a_number_of_a_page() -> None:
    assert span(240.0, 340.0, short=True) == "4 to 6 min"
    assert span(240.0, 340.0) == "4 min 0 s to 5 min 40 s"
    assert span(21.0, 41.0, short=True) == "21 s to 41 s"
    assert span(240.0, 250.0, short=True) == "about 4 min 0 s"
