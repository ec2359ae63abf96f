"""What can be done with a run wherever it shows: cancel it, resume it."""

from collections.abc import Callable

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs import local
from workbench.jobs.run import RESUMABLE, Run
from workbench.workspace import Workspace


def attempt(action: Callable[[], object]) -> None:
    """Do something to a run and draw the page anew; an expected error is shown instead."""
    try:
        action()
    except WorkbenchError as error:
        st.error(markdown(error))
    else:
        st.rerun()


def cancel_or_resume(run: Run, prefix: str) -> None:
    """A button to cancel an active run, or to resume a stopped one."""
    if run.is_active and run.state != "cancelling":
        if st.button("Cancel", key=f"{prefix}cancel", icon=":material/stop_circle:", help="Writes a checkpoint and stops."):
            attempt(lambda: local.request_cancel(Workspace.default(), run.id))
    elif run.state in RESUMABLE and st.button("Resume", key=f"{prefix}resume", icon=":material/resume:"):
        attempt(lambda: local.resume(Workspace.default(), run.id))
