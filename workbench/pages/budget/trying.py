"""The dry run on the Budget page: what the plan comes to on drawn records, before a record of the dataset is touched."""

import pandas as pd
import streamlit as st

from workbench.escaping import prose
from workbench.evaluation import METRICS
from workbench.jobs.job import WORKSPACE
from workbench.plan import Plan
from workbench.runs import dry_run
from workbench.tasks import dry_running
from workbench.training.state import PerformanceSettings
from workbench.ui.actions import attempt
from workbench.ui.formats import number
from workbench.ui.jobs import show_job
from workbench.workspace import Workspace

SAYS = (
    "The same plan, carried out on records that are drawn by a seed: as many, of the same shape, with as many classes. No record of the "
    "dataset is touched and nothing is spent, so plans and settings may be compared as often as you like."
)


def dry_run_section(plan: Plan, prefix: str) -> None:
    """What the dry run of `plan` came to; before that a button, and while it is at work its progress."""
    workspace = Workspace.default()
    label, about = "Seed of the dry run", "Other seeds show the spread."
    seed = int(st.number_input(label, 0, 10_000, 0, key=f"{prefix}dry_seed", bind="query-params", help=about))
    outcome = dry_run.kept_dry_run(workspace, plan, seed)
    if outcome is not None:
        st.dataframe(frame_of(outcome), hide_index=True, width="stretch", alt="What the dry run reached, beside chance and public data")
        st.caption(prose(outcome.caution))
        return
    st.caption(SAYS)
    job = dry_running.DRY_RUNNING.find(workspace, WORKSPACE, dry_running.request_of(workspace, plan, seed))
    if job is None or job.state == "done":
        if st.button("Try it on drawn records", key=f"{prefix}dry_run", icon=":material/science:"):
            attempt(lambda: dry_running.begin(workspace, plan, PerformanceSettings(), seed))
    else:
        show_job(job, f"{prefix}dry_run_")


def frame_of(outcome: dry_run.DryRun) -> pd.DataFrame:
    """A row a measure, beside chance, public data alone, and the drawn records themselves in the place of samples."""
    rows = [
        {
            "Measure": METRICS[result.name].title,
            "Value": number(result.value),
            "95 %": "" if result.interval is None else f"{number(result.interval[0])} to {number(result.interval[1])}",
            "Chance": number(result.chance),
            "Epsilon 0": number(result.epsilon_zero),
            "Drawn records themselves": number(result.ceiling),
        }
        for result in outcome.results
    ]
    return pd.DataFrame(rows)
