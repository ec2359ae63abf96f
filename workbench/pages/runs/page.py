"""The Runs page from top to bottom."""

from typing import Any

import streamlit as st

from workbench.escaping import markdown
from workbench.jobs.job import STATES
from workbench.pages import go_to
from workbench.pages.runs.buttons import confirm_retries, run_buttons
from workbench.pages.runs.comparison import compare_curves, compare_measures, compare_samples, compare_settings, compare_tables, run_detail
from workbench.pages.runs.intervals import compare_intervals
from workbench.pages.runs.labels import show_labels
from workbench.pages.runs.sheet import compare_methods
from workbench.pages.runs.tables import run_table
from workbench.runs.retrying import UNFINISHED
from workbench.runs.run import Run
from workbench.runs.selection import SORTS, Facets, Selection
from workbench.runs.store import RunStore
from workbench.ui.example import example_notice
from workbench.ui.formats import counted
from workbench.ui.jobs import other_jobs
from workbench.ui.queue import queue_list
from workbench.ui.runs import label_of
from workbench.workspace import Workspace

PREFIX = "runs_"
MOST_ROWS = 100  # in the table; filters and the choice beside it find the others
TABLE_ROWS, TABLE_PIXELS = 10, 388  # more rows scroll, so that the chosen run shows below them
NONE_YET = "No run yet. The Train page starts one."
BOUND: Any = {"bind": "query-params"}


def draw() -> None:
    """The queue where there is one; the table of runs; one of them, or several side by side."""
    facets = RunStore(Workspace.default()).facets()
    labels = {named[0]: label_of(*named) for named in facets.named}
    warn_of_unknown(labels)
    queue_list(PREFIX)
    example_notice(PREFIX)
    *filters, look = st.columns([1, 1, 1, 1, 1, 2])
    selection = asked_for(facets, filters)
    store = RunStore(Workspace.default())
    runs, number = store.select(selection), store.count(selection)
    if runs:
        height: Any = TABLE_PIXELS if len(runs) > TABLE_ROWS else "auto"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                f"{shown_of(len(runs), number)} of {counted(len(facets.named), 'run')}. Mark one to look at it, several to compare them."
            )
            confirm_retries(store.count(Selection(states=UNFINISHED)), PREFIX)
        st.dataframe(
            run_table(runs), hide_index=True, height=height, alt=f"{counted(len(runs), 'run')} with state, bound, claim, accuracy and time",
            key=f"{PREFIX}table", selection_mode="multi-row", on_select=lambda: look_at_marked(runs),
        )  # fmt: skip
    else:
        st.info("No run fits these filters." if facets.named else NONE_YET)
    selected = looked_at(labels, look) or runs[:1]
    if len(selected) > 1:
        st.header("Comparison", anchor=False)
        compare_measures(selected)
        compare_intervals(selected, PREFIX)
        compare_tables(selected)
        compare_methods(selected, PREFIX)
        compare_samples(selected)
        compare_curves(selected, PREFIX)
        compare_settings(selected)
    for run in selected:
        st.header(f"Run {run.id}" + (f": {markdown(run.name)}" if run.name else ""), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center"):  # below: a narrow window stacks them, with the heading among them
            run_buttons(run, f"{PREFIX}{run.id}_")
        show_labels(run)
        other_jobs(run.id, f"{PREFIX}{run.id}_")
        if len(selected) == 1:
            run_detail(run, PREFIX)


def look_at_marked(runs: list[Run]) -> None:
    """Choose the runs whose rows are marked, as if they had been picked by name."""
    rows = st.session_state[f"{PREFIX}table"]["selection"]["rows"]
    st.session_state[f"{PREFIX}chosen"] = [runs[row].id for row in rows if row < len(runs)]


def shown_of(shown: int, number: int) -> str:
    """How many rows there are of how many that pass the filters."""
    return f"{shown}" if shown == number else f"The first {shown} of {number} that pass the filters,"


def asked_for(facets: Facets, columns: list[Any]) -> Selection:
    """The runs that pass the filters, in the chosen order."""
    state, method, dataset, tag, order = columns
    return Selection(
        states=state.multiselect("State", STATES, key=f"{PREFIX}state", placeholder="all states", **BOUND),
        methods=method.multiselect("Method", facets.methods, key=f"{PREFIX}method", placeholder="all methods", **BOUND),
        datasets=dataset.multiselect("Dataset", facets.datasets, key=f"{PREFIX}dataset", placeholder="all datasets", **BOUND),
        tags=tag.multiselect("Tags", facets.tags, key=f"{PREFIX}tags", placeholder="any", help="Runs that have all of these.", **BOUND),
        order=order.selectbox("Order", list(SORTS), key=f"{PREFIX}order", **BOUND),
        limit=MOST_ROWS,
    )


def warn_of_unknown(labels: dict[str, str]) -> None:
    """Write the ids in the address as labels, which the choice asks for, and warn of a run that is not known.

    It comes before the filters: an address cannot be rewritten once a choice on the page is bound to it.
    """
    picks = st.query_params.get_all(f"{PREFIX}chosen")
    if any(one in labels for one in picks):
        named = {name: st.query_params.get_all(name) for name in st.query_params}
        go_to("runs", named | {f"{PREFIX}chosen": [labels.get(one, one) for one in picks]})
    if gone := [one for one in picks if one not in labels.values()]:
        st.warning(f"Unknown in the address: {markdown(', '.join(gone))}. Such a run may have been deleted.")


def looked_at(labels: dict[str, str], column: Any) -> list[Run]:
    """The runs that are picked, or named in the address."""
    chosen = column.multiselect(
        "Look at one run, or compare several", list(labels), key=f"{PREFIX}chosen", placeholder="the first of the list",
        format_func=labels.__getitem__, **BOUND,
    )  # fmt: skip
    return [RunStore(Workspace.default()).get(run) for run in chosen]
