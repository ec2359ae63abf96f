"""Expected time and memory on a page: from what is known of this machine, or measured meanwhile by a job."""

import math

import streamlit as st

from workbench.plan import Plan
from workbench.runs.pace import DISTURBED, Expectation, expectation_of, known_pace
from workbench.tasks import rehearsing
from workbench.training.state import PerformanceSettings
from workbench.ui.actions import errors_shown
from workbench.ui.formats import counted, duration, memory
from workbench.ui.jobs import AutomaticJob, automatic_job
from workbench.workspace import Workspace

POLL_SECONDS = 2.0
CLOSE = 1.15  # a ratio at which two times are told as one
AGAIN = "It was measured beside other work, and is being measured again …"
MEASURING = "Expected time and memory: this machine's pace with this network is being measured, once, on random records …"


def show_expectation(plan: Plan, performance: PerformanceSettings, prefix: str) -> None:
    """Expected time and memory of `plan`; while its pace is being measured, a line that says so and gives way to them."""
    arguments = (Workspace.default(), plan, performance)
    with st.container(), errors_shown():  # one place on the page, whatever stands in it: what is open below stays open
        pace = known_pace(*arguments)
        if pace is not None:
            _show(expectation_of(plan, pace))
        if pace is not None and not pace.is_due:
            return
        measuring = AutomaticJob(
            find=lambda: rehearsing.find_job(*arguments),
            begin=lambda: rehearsing.begin(*arguments),
            is_there=lambda: (new_pace := known_pace(*arguments)) is not None and not new_pace.is_due,
        )
        automatic_job(measuring, f"{prefix}pace_", MEASURING if pace is None else AGAIN, POLL_SECONDS)


def _show(expectation: Expectation) -> None:
    whole, peak, stages = st.columns([1, 1, 2])
    about = (
        "From small steps of growing size on this machine: at the pace of the fastest, and of the usual ones as busy as it was then. "
        "The slow tier holds the first to half of what runs take."
    )
    whole.metric("Expected time", span(*expectation.interval, short=True), help=about)
    peak.metric(
        "Expected memory",
        f"about {memory(expectation.peak_bytes)}",
        help="Peak of the process: on the GPU where there is one, else resident.",
    )
    lines = [f"{stage.stage}: {counted(stage.steps, 'step')}, {span(stage.seconds, stage.usual)}" for stage in expectation.stages]
    busy = (
        f"Measured while other work had {expectation.others:.0%} of the processors: a run may be faster."
        if expectation.others > DISTURBED
        else ""
    )
    stages.caption("  \n".join(filter(None, [*lines, busy])))


def span(least: float, most: float, short: bool = False) -> str:
    """Seconds as `about 40 s`, or as `40 s to 1 min 5 s` where the two are not much the same; `short`: as `4 to 6 min`, if minutes."""
    if most < CLOSE * least:
        return f"about {duration(least)}"
    if short and least >= 60 and round(most) < 3600:
        return f"{math.floor(least / 60)} to {math.ceil(most / 60)} min"
    return f"{duration(least)} to {duration(most)}"
