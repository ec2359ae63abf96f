"""Expected time and memory on a page: from what is known of this machine, or measured meanwhile by a process of its own."""

import streamlit as st

from workbench.escaping import markdown
from workbench.experiment import Plan
from workbench.runs.pace import UNCERTAINTY, Expectation, expected, known_pace, place_of
from workbench.runs.rehearsal import Rehearsal
from workbench.training.state import PerformanceSettings
from workbench.ui.formats import duration, memory

POLL_SECONDS = 2.0
MEASURING = "Expected time and memory: this machine's pace with this network is being measured, once, on random records …"


def show_expectation(plan: Plan, performance: PerformanceSettings) -> None:
    """Expected time and memory of `plan`; while its pace is being measured, a line that says so and gives way to them."""
    pace = known_pace(plan, performance)
    if pace is None:
        _measure(plan, performance)
    else:
        _show(expected(plan, pace))


def _measure(plan: Plan, performance: PerformanceSettings) -> None:
    """Begin a measurement unless one is at work, and look now and then whether it has ended."""
    key = str(place_of(plan, performance))
    if key not in _at_work():
        _at_work()[key] = Rehearsal(plan, performance)
    rehearsal = _at_work()[key]

    @st.fragment(run_every=None if rehearsal.ended else POLL_SECONDS)
    def waiting() -> None:
        if known_pace(plan, performance) is not None:
            st.rerun()
        elif rehearsal.ended:
            st.caption(f"Expected time and memory could not be measured: {markdown(rehearsal.failure)}")
        else:
            st.caption(MEASURING)

    waiting()


def _show(found: Expectation) -> None:
    whole, peak, stages = st.columns([1, 1, 2])
    about = f"On this machine, as busy as it was when its pace was measured. A run may take up to {UNCERTAINTY:.0%} more or less."
    whole.metric("Expected time", f"about {duration(found.seconds)}", help=about)
    peak.metric(
        "Expected memory", f"about {memory(found.peak_bytes)}", help="Peak of the process: on the GPU where there is one, else resident."
    )
    stages.caption("  \n".join(f"{stage.stage}: {stage.steps:,} steps, {duration(stage.seconds)}" for stage in found.stages))


@st.cache_resource
def _at_work() -> dict[str, Rehearsal]:
    """The measurements begun since the dashboard started, by the file that they write."""
    return {}
