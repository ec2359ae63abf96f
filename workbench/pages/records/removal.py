"""The removal experiment on the Records page: begun by a button, its means as a table."""

import pandas as pd
import streamlit as st

from workbench.escaping import markdown
from workbench.runs.removal import CLASSIFIERS, KEPT, OUTSIDE, kept_removal
from workbench.ui.jobs import needed_job
from workbench.workspace import Workspace

SEEDS = 3


def removal_section(run_id: str, num_draws: int, prefix: str) -> None:
    """A share to leave out, and what classifiers of samples reach with and without these records."""
    st.header("Without the most exposed", anchor=False)
    st.warning(markdown(OUTSIDE), icon=":material/lock:")
    share = st.number_input("Share left out", 0.01, 0.5, 0.05, step=None, format="%g", key=f"{prefix}share", bind="query-params")
    removal = kept_removal(Workspace.default(), run_id, share, SEEDS, num_draws)
    if removal is None:
        request = {"share": share, "seeds": SEEDS, "num_draws": num_draws}
        needed_job("removal", run_id, request, f"{prefix}removal_", f"Train {len(KEPT) * SEEDS} times and compare")
        return
    frame = pd.DataFrame(removal["results"]).groupby("kept", sort=False)[list(CLASSIFIERS)].agg(["mean", "min", "max"])
    frame.columns = [f"{name.removeprefix('accuracy_').replace('_', ' ')}, {what} (private)" for name, what in frame.columns]
    alt = f"Accuracy on held-out records of classifiers of samples, with and without {removal['removed']} records"
    st.dataframe(frame.reset_index(), hide_index=True, alt=alt)
    st.caption(f"{removal['removed']} records left out, {removal['seeds']} seeds. Private.")
