"""What an epsilon means: how well the best attack can do, and what it may come to believe."""

import numpy as np
import pandas as pd
import streamlit as st

from workbench.errors import RefusedError
from workbench.plan import Plan
from workbench.planning import strict_bound
from workbench.privacy import group_bound
from workbench.privacy.attacks import tradeoff
from workbench.serialization import dumps
from workbench.ui import charts
from workbench.ui.bound_words import NO_LIMIT, percent
from workbench.ui.formats import number

FALSE_POSITIVE_RATES = (0.001, 0.01, 0.1)
GUESS, BOUND, EVENT = "blind guessing", "allowed by the bound", "allowed by the releases themselves"
COLUMNS = {BOUND: "Found, by the bound", EVENT: "by the releases"}


def meaning_section(plan: Plan, prefix: str) -> None:
    """The best attack's true-positive rate, the error trade-off, the posterior for a prior, and groups of records."""
    if not plan.bound.is_finite:
        st.caption(NO_LIMIT)
        return
    left, right = st.columns(2)
    curves = tradeoff_frame(dumps(plan))
    with left:
        st.markdown("**The best membership attack that anyone can run**")
        figure = charts.tradeoff_curves(curves, GUESS)
        alt = f"True-positive rate of the best attack against its false-positive rate at epsilon {number(plan.bound.epsilon)}"
        charts.show(figure, alt, curves, f"{prefix}attack_chart")
    with right:
        st.markdown("**In numbers**")
        st.dataframe(attack_table(curves), hide_index=True, alt="True-positive rate of the best attack at three false-positive rates")
        _belief(plan, prefix)
        _groups(plan, prefix)


@st.cache_data(max_entries=60, show_spinner="Working out the best attack …")
def tradeoff_frame(plan_json: str) -> pd.DataFrame:
    """True-positive rates of the best attack by false-positive rate, under the bound and under the releases' own distribution."""
    plan = Plan.model_validate_json(plan_json)
    rates = np.unique(np.concatenate([np.geomspace(1e-4, 1.0, 60), FALSE_POSITIVE_RATES]))
    frame = pd.DataFrame({"false_positive_rate": rates, GUESS: rates})
    frame[BOUND] = tradeoff.best_true_positive_rate(tradeoff.dp_tradeoff(plan.bound.epsilon, plan.delta, rates))
    try:
        frame[EVENT] = tradeoff.best_true_positive_rate(tradeoff.event_tradeoff(plan.stages, rates))
    except RefusedError:
        return frame
    return frame


def attack_table(curves: pd.DataFrame) -> list[dict[str, str]]:
    """The rates at a few false-positive rates."""
    rows = []
    for rate in FALSE_POSITIVE_RATES:
        row = curves.iloc[(curves["false_positive_rate"] - rate).abs().argmin()]
        rates = {words: f"{100 * float(row[name]):.3g} %" for name, words in COLUMNS.items() if name in curves}
        rows.append({"False alarms": f"{100 * rate:g} %"} | rates)
    return rows


def _belief(plan: Plan, prefix: str) -> None:
    prior = st.slider("Belief before, that a person is in the data", 0.01, 0.99, 0.5, key=f"{prefix}prior", bind="query-params")
    posterior = float(tradeoff.posterior_belief(prior, plan.bound.epsilon))
    st.caption(
        f"Whatever is published, a belief of {prior:.0%} can rise to at most **{percent(posterior)}**, "
        f"except with a chance of about delta = {number(plan.delta)}."
    )


def _groups(plan: Plan, prefix: str) -> None:
    size = st.number_input(
        "Records that one person may have", 1, 1000, 1, key=f"{prefix}group", bind="query-params",
        help="The bound protects one record. A person with several is protected by the bound for a group of that size.",
    )  # fmt: skip
    if size > 1:
        bound = group_value(dumps(plan), int(size))
        st.caption(f"Upper bound for {size} records together: epsilon **{number(bound[0])}**. {bound[1]}")


@st.cache_data(max_entries=60, show_spinner="Bounding at the smaller delta …")
def strict_words(plan_json: str) -> str:
    """The bound at delta 1/n^2, for who wants no record at all to be published; nothing where the plan's own delta is no larger."""
    plan = Plan.model_validate_json(plan_json)
    bound = strict_bound(plan)
    if bound is None:
        return ""
    return (
        f"At delta {number(plan.delta)}, a mechanism could still publish {number(plan.delta * plan.num_records, 2)} records on average and "
        f"keep its bound. At delta {number(bound.delta)} (1/n² of n = {plan.num_records:,} records) the same releases have the upper bound "
        f"epsilon **{number(bound.epsilon, 4)}**."
    )


@st.cache_data(max_entries=60, show_spinner="Bounding the group …")
def group_value(plan_json: str, size: int) -> tuple[float, str]:
    """Epsilon and reason of the bound for groups of `size` records."""
    plan = Plan.model_validate_json(plan_json)
    bound = group_bound(plan.stages, plan.delta, size)
    return bound.epsilon, bound.reason
