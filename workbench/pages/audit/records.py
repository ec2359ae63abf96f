"""What samples show of the training records over one setting, for methods that have values per record."""

import pandas as pd
import streamlit as st

from workbench.runs.exposure import DEFAULT_DRAWS, PRIVATE, tells_records
from workbench.runs.leakage import OVER, kept_leakage
from workbench.runs.run import Run
from workbench.ui.jobs import needed_job
from workbench.workspace import Workspace

COSTS = {
    "decay": "Costs the chains of the ideal denoiser once for each schedule of noise.",
    "samples": "Costs the chains of the ideal denoiser once, or nothing if the Records page has drawn them.",
    "release": "Costs the chains of the ideal denoiser once, or nothing if the Records page has drawn them.",
    "records": "Costs the chains of the ideal denoiser once for each number of records.",
}


def leakage_section(run: Run, prefix: str) -> None:
    """What varies, the job that measures it, and its table."""
    if not tells_records(run.plan):
        st.info("This method has no values per record. Train ddm on a table, then come back; the Records page tells one record's story.")
        return
    way, at = st.columns(2)
    over = way.selectbox("What varies", list(OVER), key="audit_over", bind="query-params")
    epsilon = at.number_input("Epsilon", 1e-6, 1e6, 1.0, step=None, format="%g", key="audit_epsilon", bind="query-params")
    rows = kept_leakage(Workspace.default(), run.id, OVER[over], float(epsilon), 1, DEFAULT_DRAWS, 0)
    if rows is None:
        st.caption(COSTS[over])
        request = {"over": over, "epsilon": float(epsilon), "num_samples": 1, "num_draws": DEFAULT_DRAWS, "seed": 0}
        needed_job("leakage", run.id, request, f"{prefix}leakage_", "Measure")
        return
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt=f"What samples show of the records over {over} (private)")
    st.caption(PRIVATE)
