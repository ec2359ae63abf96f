"""A run as it goes: one fragment that polls the registry while the run is active, and stands still afterwards."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.ui.actions import cancel_or_resume, errors_shown
from workbench.ui.cards import run_marks
from workbench.ui.formats import duration, memory, number
from workbench.ui.jobs import how_far
from workbench.ui.traces import show_preview, show_values
from workbench.ui.words import explained
from workbench.workspace import Workspace

POLL_SECONDS = 1.0
BEFORE_THE_FIRST = "Before the first step: it reads its records, and draws public images where it takes some that nobody drew here before."


def watch(run_id: str, prefix: str) -> None:
    """State, step, epsilon spent, time left, preview, loss and log of a run; buttons to cancel and to resume it."""
    active = RunStore(Workspace.default()).get(run_id).is_active

    @st.fragment(run_every=POLL_SECONDS if active else None)
    def live() -> None:
        with errors_shown():
            try:
                run = RunStore(Workspace.default()).get(run_id)
            except WorkbenchError:  # deleted meanwhile
                st.rerun()
            if active and not run.is_active:
                st.rerun()
            show_run(run, prefix)

    with _fresh_place(run_id, f"{prefix}watched"):
        live()


def _fresh_place(run_id: str, key: str) -> DeltaGenerator:
    """A container where the run watched before was not drawn; its own place is emptied.

    A container drawn where another stood keeps what was in it until each element is drawn anew, and emptying it first changes
    nothing: both reach the browser as one message. So the badges and numbers of one run would stand under the next one's name.
    """
    watched, turn = st.session_state.get(key, ("", 0))
    if watched != run_id:
        turn = 1 - turn
        st.session_state[key] = (run_id, turn)
    places = st.empty(), st.empty()
    return places[turn].container()


def show_run(run: Run, prefix: str) -> None:
    """Everything about a run that changes while it goes."""
    run_marks(run)
    with st.container():  # places of their own: what comes and goes moves nothing below it, or that would stand there twice meanwhile
        if run.error:
            st.warning(prose(run.error))
    done = run.step / run.steps if run.steps else float(run.state == "done")
    waits = f"Waiting: {how_far(run)}." if run.state == "queued" else ""
    waits = waits or ("Paused: it waits for room on the disk." if run.state == "paused" else "")
    waits = waits or (BEFORE_THE_FIRST if run.state in ("starting", "running") and not run.step else "")
    st.progress(min(done, 1.0), text=waits or f"{run.stage or run.state}: step {run.step:,} of {run.steps:,}")
    _numbers(run)
    with st.container():
        cancel_or_resume(run, prefix)
    folder = RunFolder(Workspace.default(), run.id)
    left, right = st.columns([2, 3])
    with left:
        show_preview(run)
    with right:
        show_values(folder, prefix)
    with st.expander("Log", expanded=run.state in ("failed", "lost")):
        st.code(folder.log_tail() or "nothing written yet", language=None, wrap_lines=True)


def _numbers(run: Run) -> None:
    spent, budget, left, elapsed, peak = st.columns(5)
    spent.metric("Epsilon spent so far", number(run.epsilon_spent), help=explained("bound", "Counted a little ahead of the step."))
    beside = f"Where one record is replaced by another: {number(run.replace_one.epsilon)}." if run.replace_one else ""
    budget.metric("Upper bound when done", number(run.bound.epsilon), help=explained("bound", beside))
    left.metric("Time left", duration(run.seconds_left) if run.is_active else "–")
    elapsed.metric("Time so far", duration(run.seconds_running))
    peak.metric(
        "Memory at most", memory(RunFolder(Workspace.default(), run.id).peak_bytes()), help="Of the GPU where the run trains on one."
    )
