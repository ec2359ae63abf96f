"""Runs: all of them, filtered and sorted; look at one or compare several; clone and edit, evaluate, resume, delete."""

from typing import Any

import streamlit as st

from workbench.escaping import markdown
from workbench.jobs.run import STATES
from workbench.ui.comparison import compare_curves, compare_measures, compare_samples, compare_settings, run_detail
from workbench.ui.live import run_buttons
from workbench.ui.runs import SORTS, example_notice, filtered, known_runs, run_label, run_table, sorted_runs

PREFIX = "runs_"
TABLE_ROWS, TABLE_PIXELS = 3, 140  # more rows scroll, so that the chosen run shows below them

everything = known_runs()
known = {run.id: run for run in everything}
bound: Any = {"bind": "query-params"}

example_notice()
state, method, dataset, order, look = st.columns([1, 1, 1, 1, 2])
states = state.multiselect("State", STATES, key=f"{PREFIX}state", placeholder="all states", **bound)
methods = method.multiselect(
    "Method", sorted({run.method for run in everything}), key=f"{PREFIX}method", placeholder="all methods", **bound
)
datasets = dataset.multiselect(
    "Dataset", sorted({run.dataset for run in everything}), key=f"{PREFIX}dataset", placeholder="all datasets", **bound
)
runs = sorted_runs(filtered(everything, states, methods, datasets), order.selectbox("Order", list(SORTS), key=f"{PREFIX}order", **bound))

if runs:
    height: Any = TABLE_PIXELS if len(runs) > TABLE_ROWS else "auto"
    st.dataframe(run_table(runs), hide_index=True, height=height, alt=f"{len(runs)} runs with state, bound, claim and time")
else:
    st.info("No run fits these filters.")

labels = {run_label(run) for run in everything}
if gone := [asked for asked in st.query_params.get_all(f"{PREFIX}chosen") if asked not in labels]:
    st.warning(f"Unknown in the address: {markdown(', '.join(gone))}. Such a run may have been deleted.")

chosen = look.multiselect(
    "Look at one run, or compare several", list(known), key=f"{PREFIX}chosen", placeholder="the first of the list",
    format_func=lambda run: run_label(known[run]), **bound,
)  # fmt: skip
selected = [known[run] for run in chosen] or runs[:1]

if len(selected) > 1:
    st.header("Comparison", anchor=False)
    compare_measures(selected)
    compare_samples(selected)
    compare_curves(selected, f"{PREFIX}loss_chart")
    compare_settings(selected)

for run in selected:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"Run {run.id}", anchor=False, width="content")
        run_buttons(run, f"{PREFIX}{run.id}_")
    if len(selected) == 1:
        run_detail(run, PREFIX)
