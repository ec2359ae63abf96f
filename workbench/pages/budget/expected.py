"""Expected time and memory on a page: from what is known of this machine, or measured meanwhile by a job."""

import streamlit as st

from workbench.jobs import rehearsal
from workbench.jobs.pace import Expectation, expected, known_pace
from workbench.plan import Plan
from workbench.training.state import PerformanceSettings
from workbench.ui.actions import told
from workbench.ui.formats import duration, memory
from workbench.ui.jobs import Unasked, unasked_job
from workbench.workspace import Workspace

POLL_SECONDS = 2.0
MEASURING = "Expected time and memory: this machine's pace with this network is being measured, once, on random records …"


def show_expectation(plan: Plan, performance: PerformanceSettings, prefix: str) -> None:
    """Expected time and memory of `plan`; while its pace is being measured, a line that says so and gives way to them."""
    asked = (Workspace.default(), plan, performance)
    with told():
        pace = known_pace(*asked)
        if pace is not None:
            _show(expected(plan, pace))
            return
        measuring = Unasked(
            find=lambda: rehearsal.find_job(*asked),
            begin=lambda: rehearsal.begin(*asked),
            is_there=lambda: known_pace(*asked) is not None,
        )
        unasked_job(measuring, f"{prefix}pace_", MEASURING, POLL_SECONDS)


def _show(found: Expectation) -> None:
    whole, peak, stages = st.columns([1, 1, 2])
    about = "From small steps of growing size on this machine, as busy as it was then. The slow tier holds it to half of what runs take."
    whole.metric("Expected time", f"about {duration(found.seconds)}", help=about)
    peak.metric(
        "Expected memory", f"about {memory(found.peak_bytes)}", help="Peak of the process: on the GPU where there is one, else resident."
    )
    stages.caption("  \n".join(f"{stage.stage}: {stage.steps:,} steps, {duration(stage.seconds)}" for stage in found.stages))
