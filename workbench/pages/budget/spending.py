"""What each stage of a plan spends, and what a launch would take of what the ledger has left."""

import math

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.escaping import html_text, prose
from workbench.plan import Plan
from workbench.privacy import proved_bound
from workbench.privacy.spending.filters import passes_filter
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import zero_out_total
from workbench.serialization import dumps
from workbench.ui import charts
from workbench.ui.formats import counted, number
from workbench.ui.spent import reserved_epsilon
from workbench.ui.theme import SERIES
from workbench.ui.words import explained
from workbench.workspace import Workspace

SAYS = (
    "Epsilons do not add up: each part is what the plan's epsilon grows by when this stage joins those before it. In another order the "
    "parts would be others, their sum the same. *Alone* is the stage's epsilon if nothing else were published."
)


def stages_section(plan: Plan, prefix: str) -> None:
    """One stacked bar of the stages that cost something, in their order; nothing to draw where no bound holds."""
    frame = stage_frame(dumps(plan))
    if frame.empty:
        st.caption(prose(f"No stack: {plan.bound.reason or 'no stage of this plan spends anything.'}"))
        return
    alt = f"What each of {len(frame)} stages adds to the proved epsilon: " + "; ".join(
        f"{row['stage']} {number(row['adds'])}" for row in frame.to_dict("records")
    )
    charts.show(stack(frame), alt, frame, f"{prefix}stack")
    st.caption(SAYS)


@st.cache_data(max_entries=60, show_spinner="Bounding stage by stage …")
def stage_frame(plan_json: str) -> pd.DataFrame:
    """Columns stage, adds (to the proved epsilon of those before it), so far, alone; empty where nothing is bounded or spent."""
    plan = Plan.model_validate_json(plan_json)
    paid = [stage for stage in plan.stages if stage.spent != "free"]
    rows, before = [], 0.0
    for place, stage in enumerate(paid, start=1):
        so_far = proved_bound(paid[:place], plan.delta).epsilon
        if math.isinf(so_far):
            return pd.DataFrame()
        alone = proved_bound([stage], plan.delta).epsilon
        rows.append({"stage": stage.name, "adds": max(0.0, so_far - before), "so far": so_far, "alone": alone})
        before = max(before, so_far)
    return pd.DataFrame(rows)


def stack(frame: pd.DataFrame) -> go.Figure:
    """The parts end to end, each with its stage's name."""
    figure = charts.empty_figure("Proved epsilon", "")
    for row, colour, pattern in zip(frame.to_dict("records"), SERIES * 4, ("", "/", "x", "-", "+", ".") * 6, strict=False):
        figure.add_bar(
            x=[row["adds"]], y=["this plan"], orientation="h", name=html_text(row["stage"]),
            marker={"color": colour, "pattern": {"shape": pattern}}, hovertemplate=f"{html_text(row['stage'])}: %{{x:.4g}}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack", height=180, showlegend=True, legend={"traceorder": "normal"})
    figure.update_yaxes(showticklabels=False)
    return figure


def launch_section(plan: Plan) -> None:
    """Spent so far, what it would be with this plan, and the budget, all under one relation and at one delta; nothing is read."""
    ledger = Ledger(Workspace.default().ledger)
    entries, budget = ledger.entries(plan.facts.name), ledger.budget(plan.facts.name)
    delta = plan.delta if budget is None else min(plan.delta, budget.delta)
    before = [(f"run {entry.run_id}", entry.paid_stages(reserve=True)) for entry in entries]
    so_far = reserved_epsilon(entries, delta)
    own = [stage for stage in [*plan.stages, *plan.sampling_stages] if stage.spent != "free"]
    after = zero_out_total([*before, ("this run", own)], delta).epsilon
    most = math.inf if budget is None else budget.epsilon
    spent, takes, then, left = st.columns(4)
    about = f"{counted(len(entries), 'run')} together; open ones with all that they may spend."
    spent.metric("Spent on these records", number(so_far), help=explained("ledger", about))
    takes.metric("This launch would add", number(after - so_far) if math.isfinite(after) else "∞")
    then.metric("After it", number(after))
    left.metric("Left after it", "no budget set" if math.isinf(most) else number(max(0.0, most - after)))
    if after > most and passes_filter(entries, [("this run", own)], most, delta):
        st.info(
            "The budget has room for this launch: a run that ended early gives back the steps that it did not take, by a Renyi filter. "
            f"With that, the budget's promise holds at twice its delta, {number(2 * delta)}."
        )
    st.caption(
        f"Under the zero-out relation (a record becomes a null record), at delta {number(delta)}. Runs on the same records under another "
        "name are found when a run is launched, as that needs a look at the records."
    )
