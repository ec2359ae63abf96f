"""Expected time and memory on a page: measured once a plan and device, after everything else has been drawn."""

import time

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from workbench.experiment import Plan
from workbench.runs.rehearsal import Expectation, Rehearsal, StagePace
from workbench.serialization import dumps
from workbench.training.state import PerformanceSettings
from workbench.ui.formats import duration, memory

POLL_SECONDS = 0.2


def show_expectation(place: DeltaGenerator, plan: Plan, performance: PerformanceSettings) -> None:
    """Fill `place` with the expected time and memory of `plan`, rehearsing it on random records where that is not known yet.

    Call it last: it draws a progress bar until the rehearsal ends, and gives way at once when the user does something else.
    """
    known, key = _measured(), dumps({"config": plan.config, "method": plan.method, "facts": plan.facts, "performance": performance})
    if key not in known:
        known[key] = _rehearse(place, plan, performance)
    found = known[key]
    with place.container():
        if found is None:
            st.caption("Time and memory could not be measured: the rehearsal ended before its first step.")
        else:
            _show(found)


def _rehearse(place: DeltaGenerator, plan: Plan, performance: PerformanceSettings) -> Expectation | None:
    rehearsal = Rehearsal(plan, performance)
    try:
        while not rehearsal.poll():
            place.progress(rehearsal.share, text="Measuring time and memory on random records; no record of the dataset is touched …")
            time.sleep(POLL_SECONDS)
    except BaseException:
        rehearsal.stop()
        raise
    return rehearsal.result()


def _show(found: Expectation) -> None:
    more = "more than " if found.at_least else ""
    whole, peak, stages = st.columns([1, 1, 2])
    whole.metric("Expected time", f"{more}{duration(found.seconds)}", help="On this machine, as busy as it was when this was measured.")
    peak.metric("Expected memory", memory(found.peak_bytes), help="Peak of the process: on the GPU where there is one, else resident.")
    lines = [f"{pace.stage}: {pace.steps:,} steps, {_stage_time(pace)}" for pace in found.stages]
    stages.caption("  \n".join(lines))


def _stage_time(pace: StagePace) -> str:
    if not pace.at_least:
        return duration(pace.seconds)
    return f"over {duration(pace.seconds)}" if pace.seconds else "not reached in the time allowed"


@st.cache_resource
def _measured() -> dict[str, Expectation | None]:
    """What has been measured since the dashboard started, by plan and performance settings."""
    return {}
