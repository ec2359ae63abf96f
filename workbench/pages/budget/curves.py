"""Epsilon against one quantity of a plan, everything else fixed, by every accountant: of what is bounded, else of what is claimed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from workbench.escaping import prose
from workbench.plan import Plan
from workbench.privacy import accountant_values, epsilon_curve
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.curves import exact_accountants
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.varying import setting_of, varied_stages
from workbench.serialization import dumps
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.runs import as_float
from workbench.ui.theme import CLAIMED, EXACT
from workbench.ui.words import explained

AXES = {
    "noise_multiplier": "Noise multiplier",
    "steps": "Steps",
    "sample_rate": "Sampling rate",
    "response_epsilon": "Epsilon of a randomised response",
}
AXIS_TITLES = AXES | {"noise_multiplier": "Noise multiplier: standard deviation over what one record can move"}
RANGES = {"noise_multiplier": (0.3, 5.0), "steps": (0.05, 10.0), "sample_rate": (0.05, 10.0), "response_epsilon": (0.3, 5.0)}
POINTS = 20


def accountant_section(plan: Plan, prefix: str) -> None:
    """A heading, the chart of epsilon against the chosen quantity with the plan's own setting marked, and what an accountant refuses.

    Where no finite bound holds, the releases are those of the paper's analysis, and their curves dashed.
    """
    stages = counted_stages(plan)
    axes = [axis for axis in AXES if setting_of(stages, axis) is not None]
    if not axes:
        st.header("Epsilon by accountant", anchor=False, help=explained("accountant"))
        st.caption(prose(without_curves(plan)))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Epsilon by accountant, against the", anchor=False, width="content", help=explained("accountant"))
        axis = st.segmented_control(
            "Against", axes, default=axes[0], required=True, key=f"{prefix}against", bind="query-params", format_func=AXES.__getitem__,
            label_visibility="collapsed",
        )  # fmt: skip
    axis = axis if axis in axes else axes[0]
    chosen = setting_of(stages, axis)
    assert chosen is not None
    frame = curve_frame(dumps(plan), axis)
    figure = charts.accountant_curves(frame, axis, AXIS_TITLES[axis], plan.target_epsilon, chosen)
    known = "" if plan.target_epsilon is None else f", target {number(plan.target_epsilon)}"
    titles = ", ".join(accountant.title for accountant in ACCOUNTANTS.values())
    of_claim = "" if plan.bound.is_finite else " of what the paper analyses"
    alt = f"Epsilon{of_claim} at delta {number(plan.delta)} against {AXES[axis].lower()} by {titles}; this plan has {number(chosen)}{known}"
    charts.show(figure, alt, frame, f"{prefix}accountant_chart")
    st.caption(prose(" ".join(filter(None, [about(plan, stages, axis), *refusals(plan, stages)]))))


def counted_stages(plan: Plan) -> list[Stage]:
    """The releases that the curves are of: the plan's own, or where they have no finite bound those of the paper's analysis."""
    return plan.stages if plan.bound.is_finite else plan.build().claimed_stages(plan.facts)


def without_curves(plan: Plan) -> str:
    """What stands in the place of a chart: why there is none, and what every accountant says of the plan as it is."""
    if not plan.bound.is_finite:
        why = plan.bound.reason or "Nothing bounds it."
        return f"No curve: no bound holds for this plan, and its paper has no formula whose releases an accountant could take. {why}"
    values = [f"{accountant.title} {_value_words(plan.accountants[name])}" for name, accountant in ACCOUNTANTS.items()]
    return f"Nothing to vary: no release of this plan has a noise multiplier, steps or a sampling rate of its own. {'; '.join(values)}."


def about(plan: Plan, stages: Sequence[Stage], axis: str) -> str:
    """The words under the chart: whose curves they are, and what stays as planned."""
    fixed = f"Everything else stays as planned, at delta {number(plan.delta)}. The vertical line is this plan.{_whose(plan, stages, axis)}"
    if not plan.bound.is_finite:
        return (
            f"No bound holds for this plan. Dashed: what each accountant says of the releases as the paper analyses them: "
            f"a claim, not a bound. {fixed}"
        )
    return (
        f"{fixed} Where an accountant is an approximation it may under-report: trust the upper bound above. A gap is a "
        "setting that an accountant refuses."
    )


def refusals(plan: Plan, stages: Sequence[Stage]) -> list[str]:
    """A sentence for each accountant that refuses the plan as it stands."""
    values = plan.accountants if plan.bound.is_finite else accountant_values(stages, plan.delta)
    refused = {name: value["refused"] for name, value in values.items() if isinstance(value, Mapping)}
    return [f"{ACCOUNTANTS[name].title} has no curve: {reason}" for name, reason in refused.items() if name in ACCOUNTANTS]


@st.cache_data(max_entries=60, show_spinner="Drawing epsilon by every accountant …")
def curve_frame(plan_json: str, axis: str) -> pd.DataFrame:
    """Columns `axis`, accountant (with EXACT or CLAIMED after it) and epsilon (NaN where refused) around the plan's own setting."""
    plan = Plan.model_validate_json(plan_json)
    stages = counted_stages(plan)
    values = around(setting_of(stages, axis) or 1.0, axis)
    curve = epsilon_curve(lambda value: varied_stages(stages, axis, value), values, plan.delta)
    exact = exact_accountants(stages)
    if plan.bound.is_finite:
        names = {name: f"{name}{EXACT}" if name in exact else name for name in curve}
    else:
        names = {name: f"{name}{CLAIMED}" for name in curve}
    rows = [
        {axis: value, "accountant": names[name], "epsilon": float("nan") if epsilon is None else epsilon}
        for name, epsilons in curve.items()
        for value, epsilon in zip(values, epsilons, strict=True)
        if any(known is not None for known in epsilons)
    ]
    return pd.DataFrame(rows)


def around(setting: float, axis: str) -> list[float]:
    """Values on a logarithmic grid around a setting: whole for steps, at most 1 for a sampling rate."""
    low, high = RANGES[axis]
    values = np.geomspace(low * setting, high * setting, POINTS)
    if axis == "steps":
        return sorted({float(max(1, round(value))) for value in values})
    if axis == "sample_rate":
        values = np.geomspace(low * setting, min(1.0, high * setting), POINTS)
    return values.tolist()


def _whose(plan: Plan, stages: Sequence[Stage], axis: str) -> str:
    """Whose quantity the axis shows, where several releases have it or the setting of that name is another number; else nothing."""
    having = [stage.name for stage in stages if setting_of([stage], axis) is not None]
    if len(having) > 1:
        return f" The axis is that of the first release, {having[0]}; the others' ({', '.join(having[1:])}) change by the same factor."
    setting = plan.config.get(axis)
    if axis != "noise_multiplier" or setting is None or math.isclose(setting, setting_of(stages, axis) or setting, rel_tol=1e-3):
        return ""
    meaning = plan.build().Config.model_fields[axis].description
    return f" The setting noise_multiplier, {number(setting)}, is another number. {meaning}"


def _value_words(value: Any) -> str:
    return f"refuses: {value['refused'].rstrip('.')}" if isinstance(value, Mapping) else f"gives {number(as_float(value))}"
