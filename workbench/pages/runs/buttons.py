"""What can be done with a run on the Runs page."""

import streamlit as st

from workbench import runs, tasks
from workbench.escaping import prose
from workbench.jobs.job import RESUMABLE
from workbench.pages import go_to
from workbench.pages.runs.labels import edit_labels
from workbench.pages.runs.release import export_button
from workbench.runs.retrying import retry_all
from workbench.runs.run import Run
from workbench.ui.actions import attempt, cancel_or_resume, errors_shown
from workbench.ui.links import clone_link
from workbench.workspace import Workspace


def run_buttons(run: Run, prefix: str) -> None:
    """What can be done with a run: watch, clone and edit, cancel, resume or finish, evaluate, look at its gallery, export, delete."""
    with st.container(horizontal=True):
        if st.button("Clone and edit", key=f"{prefix}clone", icon=":material/content_copy:"):
            go_to("train", clone_link(run, "train_"))
        if run.is_active and st.button("Watch", key=f"{prefix}watch", icon=":material/monitoring:"):
            go_to("train", {"train_run": run.id})
        cancel_or_resume(run, prefix)
        confirm_early_end(run, prefix)
        edit_labels(run, prefix)
        if run.state == "done":
            if st.button("Gallery", key=f"{prefix}gallery", icon=":material/photo_library:"):
                go_to("gallery", {"gallery_run": run.id})
            if st.button("Evaluate", key=f"{prefix}evaluate", icon=":material/analytics:", help="Draws samples and takes every measure."):
                attempt(lambda: tasks.begin(Workspace.default(), "evaluate", run.id, {}))
            if run.audit is not None and st.button("Audit", key=f"{prefix}audit", icon=":material/policy:", help="Scores its canaries."):
                attempt(lambda: tasks.begin(Workspace.default(), "audit", run.id, {}))
            export_button(run, prefix)
        if not run.is_active:
            confirm_delete(run, prefix)


def confirm_early_end(run: Run, prefix: str) -> None:
    """End a run before its last step, where its model is whole, once a second button confirms it."""
    if (run.state not in RESUMABLE and run.state != "running") or run.stage not in run.plan.build().interruptible:
        return
    with st.popover("Finish now", icon=":material/sports_score:", help="Keeps the model as it is now."):
        st.markdown(
            f"End run **{run.id}** at step {run.step} of {run.steps} and keep its model? It cannot be resumed after that. Its bound stays "
            "that of all its steps. A budget of these records gets back the steps that were not taken, and then holds at twice its delta."
        )
        if st.button("Finish for good", key=f"{prefix}finish", type="primary"):
            attempt(lambda: runs.end_early(Workspace.default(), run.id))


def confirm_delete(run: Run, prefix: str) -> None:
    """Delete a run once a second button confirms it."""
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(f"Delete run **{run.id}** with its weights, samples and verdicts? What it spent stays in the ledger.")
        if st.button("Delete for good", key=f"{prefix}delete", type="primary"):
            attempt(lambda: runs.delete(Workspace.default(), run.id))


def confirm_retries(number: int, prefix: str) -> None:
    """Another turn for all jobs that have failed or were lost, `number` runs among them, once a second button confirms it."""
    if not number:
        return
    said = "1 run has" if number == 1 else f"{number} runs have"
    with st.popover("Retry all", icon=":material/restart_alt:", help="Runs that have failed or were lost."):
        st.markdown(
            f"{said} failed or got lost. Each goes on from its last checkpoint, in its turn; so do their samples, measures and sweeps."
        )
        if st.button("Retry all of them", key=f"{prefix}retry_all", type="primary"):
            with errors_shown():
                refused = retry_all(Workspace.default()).refused
                if not refused:
                    st.rerun()
                for one in refused:
                    st.error(prose(one))
