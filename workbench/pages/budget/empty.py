"""The utility chart before anything has been measured: what would fill it, and a button for it."""

from collections.abc import Sequence

import streamlit as st

from workbench import tasks
from workbench.escaping import markdown
from workbench.pages import go_to
from workbench.request import Request
from workbench.runs.run import Run
from workbench.ui.actions import attempt
from workbench.ui.jobs import other_jobs
from workbench.ui.links import link
from workbench.workspace import Workspace


def offer_to_fill(dataset: str, mine: Sequence[Run], request: Request | None, prefix: str) -> None:
    """Where no point is on the chart: evaluate the newest finished run of `mine`, or else train `request`."""
    if mine:
        st.info(markdown(f"No point yet: no run on {dataset} has this measure. Evaluating one puts it here, beside real data."))
        if st.button(f"Evaluate run {mine[0].id}", key=f"{prefix}fill", icon=":material/analytics:"):
            attempt(lambda: tasks.begin(Workspace.default(), "evaluate", mine[0].id, {}))
        other_jobs(mine[0].id, prefix)
        return
    st.info(
        markdown(
            f"No point yet: nothing has been trained on {dataset} here. A run of the plan above, once "
            "evaluated, is the first. Its dry run, above, costs no privacy."
        )
    )
    if request is not None and st.button("Train the plan above", key=f"{prefix}fill", icon=":material/arrow_forward:"):
        go_to("train", link(request, "train_"))
