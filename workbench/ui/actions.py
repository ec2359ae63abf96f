"""What can be done with a run wherever it shows: cancel it, resume it."""

import sqlite3
from collections.abc import Callable

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs import control
from workbench.jobs.job import RESUMABLE, Life
from workbench.workspace import Workspace


def attempt(action: Callable[[], object]) -> None:
    """Do something to a run and draw the page anew; an expected error is shown instead."""
    try:
        action()
    except (WorkbenchError, OSError, sqlite3.OperationalError) as error:
        st.error(markdown(error))
    else:
        st.rerun()


def cancel_or_resume(job: Life, prefix: str) -> None:
    """A button to cancel an active run or other job, or to resume a stopped one."""
    if job.is_active and job.state != "cancelling":
        if st.button("Cancel", key=f"{prefix}cancel", icon=":material/stop_circle:", help="Keeps what it can and stops."):
            attempt(lambda: control.request_cancel(Workspace.default(), job.id))
    elif job.state in RESUMABLE and st.button("Resume", key=f"{prefix}resume", icon=":material/resume:"):
        attempt(lambda: control.resume(Workspace.default(), job.id))
