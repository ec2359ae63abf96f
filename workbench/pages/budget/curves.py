"""Epsilon against one quantity of a plan, everything else fixed, by every accountant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from dp_accounting import dp_event

from workbench.plan import Plan
from workbench.privacy import epsilon_curve
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.curves import exact_accountants
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.serialization import dumps
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.theme import EXACT

AXES = {"noise_multiplier": "Noise multiplier", "steps": "Steps", "sample_rate": "Sampling rate"}
AXIS_TITLES = AXES | {"noise_multiplier": "Noise multiplier: standard deviation over what one record can move"}
POINTS = 30


def accountant_section(plan: Plan, prefix: str) -> None:
    """A heading and the chart of epsilon against the chosen quantity, with the target and the plan's own setting marked."""
    stages = plan.stages
    axes = [axis for axis in AXES if setting_of(stages, axis) is not None]
    if not axes:
        st.header("Epsilon by accountant", anchor=False)
        st.caption("Nothing to vary: no stage of this plan adds Gaussian noise, so every accountant says the same as the bound above.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Epsilon by accountant, against the", anchor=False, width="content")
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
    alt = f"Epsilon at delta {number(plan.delta)} against {AXES[axis].lower()} by {titles}; this plan has {number(chosen)}{known}"
    charts.show(figure, alt, frame, f"{prefix}accountant_chart")
    st.caption(
        f"Everything else stays as planned, at delta {number(plan.delta)}. The vertical line is this plan.{_of_several(stages, axis)} "
        "Where an accountant is an approximation it may under-report: the upper bound above is the one to go by. A gap is a setting that "
        "an accountant refuses."
    )


@st.cache_data(max_entries=60, show_spinner="Drawing epsilon by every accountant …")
def curve_frame(plan_json: str, axis: str) -> pd.DataFrame:
    """Columns `axis`, accountant and epsilon (NaN where refused) around the plan's own setting."""
    plan = Plan.model_validate_json(plan_json)
    stages = plan.stages
    values = around(setting_of(stages, axis) or 1.0, axis)
    curve = epsilon_curve(lambda value: varied(stages, axis, value), values, plan.delta)
    exact = exact_accountants(stages)
    rows = [
        {axis: value, "accountant": f"{name}{EXACT}" if name in exact else name, "epsilon": float("nan") if epsilon is None else epsilon}
        for name, epsilons in curve.items()
        for value, epsilon in zip(values, epsilons, strict=True)
    ]
    return pd.DataFrame(rows)


def setting_of(stages: Sequence[Stage], axis: str) -> float | None:
    """The plan's own value of a quantity; None where no stage has it."""
    for stage in stages:
        if stage.spent == "free":
            continue
        event: Any = stage.event
        if isinstance(event, dp_event.PoissonSampledDpEvent) and isinstance(event.event, dp_event.GaussianDpEvent):
            return {"noise_multiplier": event.event.noise_multiplier, "steps": stage.steps, "sample_rate": event.sampling_probability}[axis]
        if isinstance(event, ReplaceOneGaussianDpEvent) and axis == "noise_multiplier":
            return event.noise_multiplier
    return None


def _of_several(stages: Sequence[Stage], axis: str) -> str:
    """Whose quantity the axis shows, where several releases have it; else nothing."""
    having = [stage.name for stage in stages if setting_of([stage], axis) is not None]
    if len(having) < 2:
        return ""
    return f" The axis is that of the first release, {having[0]}; the others' ({', '.join(having[1:])}) change by the same factor."


def varied(stages: Sequence[Stage], axis: str, value: float) -> list[Stage]:
    """The stages where the plan's own setting is `value`: in every Poisson-sampled or single Gaussian release the quantity changes by
    the same factor, so that releases with shares of one budget keep them."""
    factor = value / (setting_of(stages, axis) or value)
    return [stage if stage.spent == "free" else _varied(stage, axis, factor) for stage in stages]


def around(setting: float, axis: str) -> list[float]:
    """Values on a logarithmic grid around a setting: whole for steps, at most 1 for a sampling rate."""
    low, high = {"noise_multiplier": (0.3, 5.0), "steps": (0.05, 10.0), "sample_rate": (0.05, 10.0)}[axis]
    values = np.geomspace(low * setting, high * setting, POINTS)
    if axis == "steps":
        return sorted({float(max(1, round(value))) for value in values})
    if axis == "sample_rate":
        values = np.geomspace(low * setting, min(1.0, high * setting), POINTS)
    return values.tolist()


def _varied(stage: Stage, axis: str, factor: float) -> Stage:
    event: Any = stage.event
    if isinstance(event, dp_event.PoissonSampledDpEvent) and isinstance(event.event, dp_event.GaussianDpEvent):
        if axis == "steps":
            return replace(stage, steps=max(1, round(factor * stage.steps)))
        rate, noise = event.sampling_probability, event.event.noise_multiplier
        noise, rate = (factor * noise, rate) if axis == "noise_multiplier" else (noise, min(1.0, factor * rate))
        return replace(stage, event=dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)))
    if isinstance(event, ReplaceOneGaussianDpEvent) and axis == "noise_multiplier":
        return replace(stage, event=ReplaceOneGaussianDpEvent(factor * event.noise_multiplier, event.zero_out_ratio))
    return stage
