"""Claim, proved bound and measured lower bound of every method on one axis, a row each; the plan stands above them, on an equal axis."""

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.claims import ClaimRow
from workbench.escaping import html_text, prose
from workbench.marks import mark
from workbench.methods import METHODS
from workbench.pages.claims.table import claim_rows
from workbench.plan import Plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.audits import AuditRecord
from workbench.runs.run import Run
from workbench.ui import charts
from workbench.ui.cards import relation_words
from workbench.ui.formats import number
from workbench.ui.looks import look_of
from workbench.ui.runs import audits_among, equal_audit
from workbench.ui.theme import BOUND_WORDS, CLAIM_WORDS, GREY, TEXT

NONE = math.nan
LARGEST = 1e5  # what is finite and above stands together at a place of its own, so that the rows keep their width
ROW_HEIGHT, BESIDE_ROWS, BESIDE_OWN_ROW = 23, 150, 85
LETTER = 0.66  # the width of a letter over its height, with room: a browser moves an axis whose names do not fit
LANE = 0.3  # an attack at a setting of its own stands so far below the row's own numbers
SAYS = (
    "Compare within a row, not between rows: each stands at one stated setting of its paper, most at delta 10⁻⁵. A claim and a bound may "
    "speak of different neighbours; the table names both, and the setting. ∞: nothing bounds it. Hover to read why, or read the table."
)
ATTACKED = (
    "A triangle below a row is an attack at a small setting of its own. The dotted line begins at what the paper's formula claims there "
    "and ends at what the attack measured: where the triangle lies to the right, the formula is wrong, whatever the row's own numbers."
)


class Numbers(NamedTuple):
    """A row: the three numbers, NaN where there is none, each with its words, and what they are of.

    `claimed_there` is the claim at the attack's own setting; NaN if what was measured is at the row's.
    """

    name: str
    method: str
    claim: float
    claim_is: str
    bound: float
    bound_is: str
    measured: float
    claimed_there: float
    delta: float
    relations: tuple[str, str]
    setting: str
    why: str
    mark: str = mark(True)


def every_section(plan: Plan | None, runs: Sequence[Run], prefix: str) -> None:
    """The plan, and the chart of all rows with its table, how to read it, and who has no row. `runs` are all runs, newest first.

    The plan has a chart of its own: a browser that draws all rows anew at each change of the plan takes half a second for it.
    """
    rows, audits = claim_rows(), audits_among(runs)
    shown = all_numbers(rows, audits)
    if plan is not None:
        own = of_plan(plan, equal_audit(audits, plan))
        alt = f"Claimed, proved and measured epsilon of this plan, on the axis of the rows below: bound {number(plan.bound.epsilon)}"
        charts.show(own_chart(own, shown), alt, every_frame([own]), f"{prefix}own_row")
    alt = f"Claimed, proved and measured epsilon of {len(shown)} rows on one logarithmic axis; the table has every number"
    charts.show(every_chart(shown), alt, every_frame(shown), f"{prefix}every_chart")
    st.caption(SAYS)
    st.caption(ATTACKED)
    if absent := [row.method for row in rows.values() if not is_evaluated(row)]:
        st.caption(
            prose(
                f"No row: {', '.join(absent)}. No paper claims anything of them, or our notes hold no formula. Plan one of the methods "
                "above, and it stands over the rows."
            )
        )


def all_numbers(rows: Mapping[str, ClaimRow], audits: Sequence[tuple[Run, AuditRecord]]) -> list[Numbers]:
    """The rows of the claims table that have a number, and below each method the newest run of it that was audited here."""
    shown: list[Numbers] = []
    left: dict[str, AuditRecord] = {}
    for _, record in audits:
        left.setdefault(record.method, record)
    for row in rows.values():
        if is_evaluated(row):
            shown.append(of_row(row))
        if row.method in left:
            shown.append(of_audit(left.pop(row.method)))
    return [*shown, *map(of_audit, left.values())]


def is_evaluated(row: ClaimRow) -> bool:
    """Whether a row has a number at all."""
    return (row.claim.status, row.bound.status) != ("not_evaluated", "not_evaluated")


def of_row(row: ClaimRow) -> Numbers:
    """A row of the claims table, with the attack on it if there is one."""
    caught = row.caught
    why = " ".join(filter(None, [row.bound.reason, caught.words if caught else ""]))
    measured, there = (NONE, NONE) if caught is None else (caught.epsilon, caught.claim)
    return _numbers(row.method, _method_of(row.method), row.claim, row.bound, measured, there, row.setting, why)


def of_plan(plan: Plan, audit: AuditRecord | None) -> Numbers:
    """The plan above, with the audit of an equal one if there is one."""
    measured, why = (NONE, plan.bound.reason) if audit is None else (audit.epsilon, f"{plan.bound.reason} {audit.words}")
    row = _numbers("this plan", plan.method, plan.claim, plan.bound, measured, NONE, f"{plan.method} on {plan.facts.name}, as above", why)
    return row if audit is None else row._replace(mark=mark(audit.may_leave))


def of_audit(record: AuditRecord) -> Numbers:
    """An audited run: all three numbers are of the same setting."""
    claim_is = CLAIM_WORDS["not_evaluated"] if math.isinf(record.claim) else "of the run's plan"
    claim = NONE if math.isinf(record.claim) else record.claim
    return Numbers(
        f"run {record.run}", record.method, claim, claim_is, record.bound, "of the run's plan", record.epsilon, NONE, record.delta,
        ("", ""), f"{record.method} on {record.dataset}", record.alarm or record.words, mark(record.may_leave),
    )  # fmt: skip


def every_frame(shown: Sequence[Numbers]) -> pd.DataFrame:
    """The chart's numbers, a line a row."""
    return pd.DataFrame(
        [
            {
                "Row": row.name,
                "Claimed epsilon": row.claim,
                "The claim is": row.claim_is,
                "Upper bound": row.bound,
                "The bound is": row.bound_is,
                "Measured at least": row.measured,
                "Claimed where it was measured": row.claimed_there,
                "Delta": row.delta,
                "Neighbours of the claim": row.relations[0],
                "Neighbours of the bound": row.relations[1],
                "Setting": row.setting,
                "Why": row.why,
                "Mark": row.mark,
            }
            for row in shown
        ]
    )


@st.cache_resource(max_entries=30, show_spinner=False)
def every_chart(shown: Sequence[Numbers]) -> go.Figure:
    """A row each, the first on top: hollow diamond, square and triangle in the method's colour, joined by a line. It is kept."""
    return _chart(shown, _left(shown))


def own_chart(own: Numbers, shown: Sequence[Numbers]) -> go.Figure:
    """The plan's row on the axis of the chart of the others, which stands below it with the legend of both."""
    figure = _chart([own], _left(shown))
    figure.update_layout(height=BESIDE_OWN_ROW + ROW_HEIGHT, showlegend=False, margin_t=0, margin_b=55, xaxis_title_text="")
    return figure


def _left(shown: Sequence[Numbers]) -> float:
    """Pixels beside the axis, for the longest name."""
    return LETTER * TEXT * max(len(_name(row)) for row in shown)


def _name(row: Numbers) -> str:
    return f"{row.method}, {row.name}" if row.name.startswith("run ") else row.name


def _chart(shown: Sequence[Numbers], left: float) -> go.Figure:
    figure = charts.empty_figure("Epsilon (log scale)", "")
    heights = range(len(shown) - 1, -1, -1)
    placed = list(zip(shown, heights, strict=True))
    _join_ends(figure, [(row.claim, row.bound, height) for row, height in placed], "solid")
    _join_ends(figure, [(row.claimed_there, row.measured, height - LANE) for row, height in placed], "dot")
    _points(figure, "paper's claim", "diamond-open", 13, [(row, row.claim, row.claim_is, height) for row, height in placed])
    _points(figure, "upper bound", "square", 8, [(row, row.bound, row.bound_is, height) for row, height in placed])
    measured = [(row, row.measured, "a lower bound", height - LANE * _is_apart(row)) for row, height in placed]
    _points(figure, "measured, at least", "triangle-right", 11, measured)
    there = [(row, row.claimed_there, "at the attack's own setting", height - LANE) for row, height in placed]
    _points(figure, "claimed where it was measured", "line-ns-open", 8, there)
    _axes(figure, shown, left)
    return figure


def place(epsilon: float) -> float:
    """Where an epsilon stands on the axis: what is larger than `LARGEST`, and what is infinite, each at its own place."""
    if math.isinf(epsilon):
        return LARGEST * 1e3
    return LARGEST * 10 if epsilon > LARGEST else max(epsilon, charts.SMALLEST_EPSILON)


def _points(figure: go.Figure, name: str, symbol: str, size: int, points: Sequence[tuple[Numbers, float, str, float]]) -> None:
    """One kind of number, in the colours of the rows' methods, with its place in the legend."""
    known = [one for one in points if not math.isnan(one[1])]
    colours = [look_of(row.method)[0] for row, *_ in known]
    figure.add_scatter(
        x=[place(value) for _, value, _, _ in known],
        y=[height for *_, height in known],
        mode="markers+text",
        text=[f" {number(value)}" if LARGEST < value < math.inf else "" for _, value, _, _ in known],
        textposition="middle right",
        marker={"symbol": symbol, "size": size, "color": colours, "line": {"width": 2, "color": colours}},
        customdata=[[_hover(row, f"{name}: {number(value, 4)}, {words}")] for row, value, words, _ in known],
        hovertemplate="%{customdata[0]}<extra></extra>",
        showlegend=False,
        name=name,
    )
    look = {"symbol": symbol, "size": size, "color": GREY, "line": {"width": 2, "color": GREY}}
    figure.add_scatter(x=[None], y=[None], mode="markers", marker=look, name=name)


def _axes(figure: go.Figure, shown: Sequence[Numbers], left: float) -> None:
    powers = [10.0**power for power in range(-3, 6)]
    figure.update_xaxes(
        type="log", range=[-3.2, math.log10(LARGEST) + 3.4], tickvals=[*powers, LARGEST * 10, LARGEST * 1e3],
        ticktext=[*(f"{power:g}" if power < 1e4 else number(power) for power in powers), "more", "∞"],
    )  # fmt: skip
    names = [html_text(_name(row)) for row in shown]
    figure.update_yaxes(range=[-0.8, len(shown) - 0.2], tickvals=list(range(len(shown) - 1, -1, -1)), ticktext=names)
    figure.update_layout(height=BESIDE_ROWS + ROW_HEIGHT * len(shown), showlegend=True, margin_l=left)


def _join_ends(figure: go.Figure, ends: Sequence[tuple[float, float, float]], dash: str) -> None:
    """A thin line from one number of a row to another, where it has both."""
    x: list[float | None] = []
    y: list[float | None] = []
    for first, second, height in ends:
        if not (math.isnan(first) or math.isnan(second)):
            x += [place(first), place(second), None]
            y += [height, height, None]
    line = {"color": GREY, "width": 1, "dash": dash}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, name=f"joined {dash}")


def _numbers(
    name: str, method: str, claim: PrivacyValue, bound: PrivacyValue, measured: float, there: float, setting: str, why: str
) -> Numbers:
    return Numbers(
        name, method, _epsilon_or_none(claim), CLAIM_WORDS[claim.status], _epsilon_or_none(bound), BOUND_WORDS[bound.status],
        measured, there, bound.delta, (relation_words(claim), relation_words(bound)), setting, why,
    )  # fmt: skip


def _epsilon_or_none(value: PrivacyValue) -> float:
    return NONE if value.status == "not_evaluated" else value.epsilon


def _is_apart(row: Numbers) -> bool:
    return not math.isnan(row.claimed_there)


def _method_of(name: str) -> str:
    """The registered method that a row is a reading of; the row's own name if there is none."""
    return max((method for method in METHODS if name == method or name.startswith(f"{method}-")), key=len, default=name)


def _hover(row: Numbers, words: str) -> str:
    return "<br>".join(html_text(line) for text in (row.name, words, row.setting, row.why) for line in wrap(text, 70))
