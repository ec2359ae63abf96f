"""Expected time and memory on a page: from what is known of this machine, or measured meanwhile by a process of its own."""

from itertools import count

import streamlit as st

from workbench.escaping import markdown
from workbench.jobs.pace import Expectation, expected, known_pace, place_of
from workbench.jobs.rehearsal import Rehearsal
from workbench.plan import Plan
from workbench.training.state import PerformanceSettings
from workbench.ui.formats import duration, memory
from workbench.workspace import Workspace

POLL_SECONDS = 2.0
MEASURING = "Expected time and memory: this machine's pace with this network is being measured, once, on random records …"


def show_expectation(plan: Plan, performance: PerformanceSettings) -> None:
    """Expected time and memory of `plan`; while its pace is being measured, a line that says so and gives way to them."""
    pace = known_pace(Workspace.default(), plan, performance)
    if pace is None:
        _measure(plan, performance)
    else:
        _show(expected(plan, pace))


def _measure(plan: Plan, performance: PerformanceSettings) -> None:
    """Begin a measurement, unless one is at work, once the page has settled; look now and then whether it has ended.

    The first pass belongs to the page itself, which shares the processor with whatever it starts.
    """
    key, passes = str(place_of(Workspace.default(), plan, performance)), count()
    failed = key in _at_work() and _at_work()[key].ended

    @st.fragment(run_every=None if failed else POLL_SECONDS)
    def waiting() -> None:
        if known_pace(Workspace.default(), plan, performance) is not None:
            st.rerun()
        if next(passes) > 0 and key not in _at_work():
            _at_work()[key] = Rehearsal(Workspace.default(), plan, performance)
        rehearsal = _at_work().get(key)
        if rehearsal is not None and rehearsal.ended:
            st.caption(f"Expected time and memory could not be measured: {markdown(rehearsal.failure)}")
        else:
            st.caption(MEASURING)

    waiting()


def _show(found: Expectation) -> None:
    whole, peak, stages = st.columns([1, 1, 2])
    about = "From small steps of growing size on this machine, as busy as it was then. The slow tier holds it to half of what runs take."
    whole.metric("Expected time", f"about {duration(found.seconds)}", help=about)
    peak.metric(
        "Expected memory", f"about {memory(found.peak_bytes)}", help="Peak of the process: on the GPU where there is one, else resident."
    )
    stages.caption("  \n".join(f"{stage.stage}: {stage.steps:,} steps, {duration(stage.seconds)}" for stage in found.stages))


@st.cache_resource
def _at_work() -> dict[str, Rehearsal]:
    """The measurements begun since the dashboard started, by the file that they write."""
    return {}
