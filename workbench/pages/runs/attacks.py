"""What attacks on membership told of a run's model, on the Runs page."""

import pandas as pd
import streamlit as st

from workbench.evaluation.attacks import ONE_TRAINING, MembershipResult, roc_figure
from workbench.runs.memberships import kept_attacks
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.workspace import Workspace

PRIVATE = "Private: computed from training and held-out records. Thresholds were fixed on other records than those that are judged."


def show_attacks(run_id: str, prefix: str) -> None:
    """The ROC curves of the attacks that have been made, on logarithmic axes, with their rates as a table; nothing where there are none."""
    attacks = kept_attacks(Workspace.default(), run_id)
    if not attacks:
        return
    st.markdown("**Attacks on membership**")
    figure = roc_figure(attacks)
    summary = "; ".join(f"{one.score}: AUC {number(one.auc)}" for one in attacks)
    alt = f"True-positive against false-positive rate, both logarithmic, of run {run_id}. {summary}"
    charts.show(figure, alt, rates(attacks), f"{prefix}roc")
    st.caption(f"{PRIVATE} {ONE_TRAINING}")


def rates(attacks: list[MembershipResult]) -> pd.DataFrame:
    """A row an attack and rate that it aimed at."""
    return pd.DataFrame(
        [
            {
                "Score": one.score,
                "AUC": f"{number(one.auc)} ({number(one.interval[0])} to {number(one.interval[1])})",
                "Aimed at": number(point.aim),
                "True positives": _interval(point.tpr),
                "False positives": _interval(point.fpr),
            }
            for one in attacks
            for point in one.points
        ]
    )


def _interval(rate: tuple[float, float, float]) -> str:
    value, low, high = map(number, rate)
    return f"{value} ({low} to {high})"
