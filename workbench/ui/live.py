"""A run as it goes: one fragment that polls the registry while the run is active, and stands still afterwards."""

from collections.abc import Callable

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs import local
from workbench.jobs.folder import RunFolder
from workbench.jobs.run import RESUMABLE, Run
from workbench.jobs.store import RunStore
from workbench.ui import charts
from workbench.ui.cards import releasable_mark, run_marks
from workbench.ui.choices import run_parameters
from workbench.ui.formats import duration, memory, number
from workbench.ui.runs import evaluate_now
from workbench.ui.session import go_to

POLL_SECONDS = 1.0


def watch(run_id: str, prefix: str) -> None:
    """State, step, epsilon spent, time left, preview, loss and log of a run; buttons to cancel and to resume it."""
    active = RunStore().get(run_id).is_active

    @st.fragment(run_every=POLL_SECONDS if active else None)
    def live() -> None:
        run = RunStore().get(run_id)
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
            st.warning(markdown(run.error))
    done = run.step / run.steps if run.steps else float(run.state == "done")
    st.progress(min(done, 1.0), text=f"{run.stage or run.state}: step {run.step:,} of {run.steps:,}")
    _numbers(run)
    with st.container():
        cancel_or_resume(run, prefix)
    folder = RunFolder(run.id)
    left, right = st.columns([2, 3])
    with left:
        show_preview(folder, run.id)
    with right:
        show_loss(folder, f"{prefix}loss_chart")
    with st.expander("Log", expanded=run.state in ("failed", "lost")):
        st.code(folder.log_tail() or "nothing written yet", language=None, wrap_lines=True)


def cancel_or_resume(run: Run, prefix: str) -> None:
    """A button to cancel an active run, or to resume a stopped one."""
    if run.is_active and run.state != "cancelling":
        if st.button("Cancel", key=f"{prefix}cancel", icon=":material/stop_circle:", help="Writes a checkpoint and stops."):
            attempt(lambda: local.request_cancel(run.id))
    elif run.state in RESUMABLE and st.button("Resume", key=f"{prefix}resume", icon=":material/resume:"):
        attempt(lambda: local.resume(run.id))


def run_buttons(run: Run, prefix: str) -> None:
    """What can be done with a run: watch, clone and edit, cancel or resume, evaluate, look at its gallery, delete."""
    with st.container(horizontal=True):
        if st.button("Clone and edit", key=f"{prefix}clone", icon=":material/content_copy:"):
            go_to("train", run_parameters(run, "train_"))
        if run.is_active and st.button("Watch", key=f"{prefix}watch", icon=":material/monitoring:"):
            go_to("train", {"train_run": run.id})
        cancel_or_resume(run, prefix)
        if run.state == "done":
            if st.button("Gallery", key=f"{prefix}gallery", icon=":material/photo_library:"):
                go_to("gallery", {"gallery_run": run.id})
            if st.button("Evaluate", key=f"{prefix}evaluate", icon=":material/analytics:", help="Draws samples and takes every measure."):
                attempt(lambda: evaluate_now(run.id))
        if not run.is_active:
            confirm_delete(run, prefix)


def confirm_delete(run: Run, prefix: str) -> None:
    """Delete a run once a second button confirms it."""
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(f"Delete run **{run.id}** with its weights, samples and verdicts? What it spent stays in the ledger.")
        if st.button("Delete for good", key=f"{prefix}delete", type="primary"):
            attempt(lambda: local.delete(run.id))


def attempt(action: Callable[[], object]) -> None:
    """Do something to a run and draw the page anew; an expected error is shown instead."""
    try:
        action()
    except WorkbenchError as error:
        st.error(markdown(error))
    else:
        st.rerun()


def show_preview(folder: RunFolder, run_id: str) -> None:
    """The latest generated records."""
    st.markdown("**Preview**")
    preview = folder.preview()
    if preview is None:
        st.caption("The first generated records appear here after a while.")
    elif preview.suffix == ".csv":
        st.dataframe(pd.read_csv(preview), hide_index=True, alt=f"Rows generated by run {run_id} so far")
    else:
        st.image(str(preview), alt=f"Records generated by run {run_id} so far")


def show_loss(folder: RunFolder, key: str) -> None:
    """The training loss against the step, with its mark."""
    frame = loss_frame(folder)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Loss**")
        releasable_mark(False, "Losses of private steps are computed from private records without noise.")
    if frame.empty:
        st.caption("No step has been recorded yet.")
        return
    last = frame.iloc[-1]
    alt = f"Loss against training step, {len(frame)} points, last {number(float(last['loss']))} at step {int(last['step'])}"
    charts.show(charts.step_curves(frame, "loss", "Loss", logarithmic=True), alt, loss_table(frame), key)


def loss_frame(folder: RunFolder, name: str | None = None) -> pd.DataFrame:
    """Recorded losses with columns run (the stage, or `name` if given), step and loss."""
    rows = [row for row in folder.read_metrics() if row["loss"] is not None]
    columns = {"run": [name or row["stage"] for row in rows], "step": [row["step"] for row in rows], "loss": [row["loss"] for row in rows]}
    return pd.DataFrame(columns)


def loss_table(frame: pd.DataFrame) -> pd.DataFrame:
    """`loss_frame` as it is shown and exported: with the mark of its losses."""
    return frame.rename(columns={"loss": "loss (private)"})


def _numbers(run: Run) -> None:
    spent, budget, left, elapsed, peak = st.columns(5)
    spent.metric("Epsilon spent so far", number(run.epsilon_spent), help="A proved upper bound, counted a little ahead of the step.")
    beside = run.replace_one and f"Where one record is replaced by another: {number(run.replace_one.epsilon)}."
    budget.metric("Upper bound when done", number(run.bound.epsilon), help=beside)
    left.metric("Time left", duration(run.seconds_left) if run.is_active else "–")
    elapsed.metric("Time so far", duration(run.seconds_running))
    peak.metric("Memory at most", memory(RunFolder(run.id).peak_bytes()), help="Of the GPU where the run trains on one.")
