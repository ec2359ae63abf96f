"""Claim, bound and lower bound of every method on one axis: what is drawn is what the claims table says, and infinity has a place."""

import io
import math
from collections.abc import Callable
from typing import cast

import pytest
from pages.reading import text_of
from PIL import Image
from streamlit.testing.v1 import AppTest

from workbench import datasets
from workbench.claims import ClaimRow, claims_table
from workbench.pages.budget import every
from workbench.planning import make_plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.runs.audits import AuditRecord
from workbench.runs.run import Run
from workbench.ui.chart_files import png
from workbench.ui.looks import look_of

OpenPage = Callable[..., AppTest]
PLAN = make_plan("class-moments", datasets.facts("digits"), epsilon=2.0)


@pytest.fixture(scope="module")
def rows() -> dict[str, ClaimRow]:
    return {row.method: row for row in claims_table()}


def audited(epsilon: float) -> AuditRecord:
    """An audit of a run of DP-MERF at a bound of 3."""
    design = AuditDesign(kind="labels", num_canaries=100, num_guesses=50, confidence=0.95, seed=1)
    return AuditRecord(
        run="abcd1234", method="dp-merf", dataset="digits", design=design, score="the distance", num_correct=40, epsilon=epsilon,
        ceiling=5.0, f_dp_epsilon=1.0, f_dp_ceiling=6.0, delta=1e-5, bound=3.0, claim=math.inf, created=0.0,
    )  # fmt: skip


def test_a_row_has_the_numbers_of_the_claims_table(rows: dict[str, ClaimRow]) -> None:
    frame = every.every_frame(every.all_numbers(rows, [])).set_index("Row")
    evaluated = [name for name, row in rows.items() if every.is_evaluated(row)]
    assert frame.index.tolist() == evaluated
    assert {"dp-promise", "ddm", "dp-ldm"} <= set(evaluated)
    assert "class-moments" not in evaluated
    for name in evaluated:
        assert frame.loc[name, "Upper bound"] == rows[name].bound.epsilon
        assert rows[name].bound.reason in frame.loc[name, "Why"]
    assert math.isnan(frame.loc["ddm", "Claimed epsilon"]), "not evaluated is no infinity"
    caught = rows["dp-promise"].caught
    assert caught is not None
    assert frame.loc["dp-promise", ["Measured at least", "Claimed where it was measured"]].tolist() == [caught.epsilon, caught.claim]
    assert caught.words in frame.loc["dp-promise", "Why"]


def test_infinity_and_what_is_far_out_have_places_of_their_own(rows: dict[str, ClaimRow]) -> None:
    shown = every.all_numbers(rows, [])
    figure = every.every_chart(shown)
    axis = figure.layout.xaxis
    named = dict(zip(axis.ticktext, axis.tickvals, strict=True))
    assert every.place(math.inf) == named["∞"] > every.place(1e12) == named["more"] > every.place(9e4)
    assert all(10 ** axis.range[0] < place < 10 ** axis.range[1] for place in named.values())
    heights = dict(zip(figure.layout.yaxis.ticktext, figure.layout.yaxis.tickvals, strict=True))
    bounds = next(trace for trace in figure.data if trace.name == "upper bound" and len(trace.x) > 1)
    at = dict(zip(bounds.y, zip(bounds.x, bounds.marker.color, bounds.customdata, strict=True), strict=True))
    place, colour, hover = at[heights["dp-promise"]]
    assert (place, colour) == (named["∞"], look_of("dp-promise")[0])
    assert "none: the claim is refuted" in hover[0]
    assert at[heights["dp-promise-renoised"]][1] == look_of("dp-promise")[0], "a reading has its method's colour"
    claims = next(trace for trace in figure.data if trace.name == "paper's claim" and len(trace.x) > 1)
    assert " 9.46×10¹²" in claims.text, "a number that is off the scale is written"


def test_an_attack_at_a_setting_of_its_own_stands_below_its_row_and_an_audit_on_it(rows: dict[str, ClaimRow]) -> None:
    shown = every.all_numbers(rows, [(cast(Run, None), audited(0.7)), (cast(Run, None), audited(2.0))])
    heights = {row.name: len(shown) - 1 - place for place, row in enumerate(shown)}
    measured = next(trace for trace in every.every_chart(shown).data if trace.name == "measured, at least" and len(trace.x) > 1)
    assert {heights["dp-promise"] - every.LANE, heights["run abcd1234"]} <= set(measured.y)
    assert heights["dp-merf"] - heights["run abcd1234"] == 1, "below its method"
    (own,) = [row for row in shown if row.name == "run abcd1234"]
    assert (own.bound, own.measured, own.mark) == (3.0, 0.7, "private")
    assert math.isnan(own.claim)


def test_the_plan_stands_above_on_the_same_axis(workbench_home: object, rows: dict[str, ClaimRow]) -> None:
    del workbench_home
    own = every.of_plan(PLAN, None)
    assert (own.name, own.method, own.bound) == ("this plan", "class-moments", PLAN.bound.epsilon)
    assert own.setting == "class-moments on digits, as above"
    shown = every.all_numbers(rows, [])
    alone, others = every.own_chart(own, shown), every.every_chart(shown)
    assert alone.layout.margin.l == others.layout.margin.l
    for part in ("type", "range", "tickvals", "ticktext"):
        assert alone.layout.xaxis[part] == others.layout.xaxis[part]
    assert alone.layout.yaxis.ticktext == ("this plan",)
    assert others.layout.showlegend, "once for both"


def test_its_picture_is_as_tall_as_its_rows(rows: dict[str, ClaimRow]) -> None:
    few, many = (
        Image.open(io.BytesIO(png(every.every_chart(shown), "Every method")))
        for shown in (every.all_numbers(rows, [])[:5], every.all_numbers(rows, []))
    )
    assert few.height < many.height
    assert look_of("dp-promise")[0] in {f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in _colours(many)}


def _colours(picture: Image.Image) -> set[tuple[int, int, int]]:
    return {colour[:3] for _, colour in picture.convert("RGB").getcolors(1 << 20) or ()}


def test_the_page_shows_it_and_names_who_has_no_row(open_page: OpenPage) -> None:
    app = open_page("budget", "budget_own_row_numbers", "budget_every_chart_numbers", budget_method="class-moments")
    own, others = [frame.value for frame in app.dataframe if "Claimed where it was measured" in frame.value]
    assert own["Row"].tolist() == ["this plan"]
    assert {"dp-promise", "ddm"} <= set(others["Row"])
    app.number_input(key="budget_epsilon").set_value(4.25).run()
    again = [frame.value for frame in app.dataframe if "Claimed where it was measured" in frame.value]
    assert 4 < again[0]["Upper bound"][0] <= 4.25 < own["Upper bound"][0]
    assert again[1].equals(others), "a chart that has not changed is not drawn again"
    assert {"nonprivate", "class-means"} <= set(text_of(app).partition("No row: ")[2].partition(". ")[0].split(", "))
    assert "Compare within a row, not between rows" in text_of(app)
