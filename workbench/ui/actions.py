"""What can be done with a run wherever it shows, cancel it or resume it, and how a page tells what went wrong."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from workbench import runs
from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.jobs import control
from workbench.jobs.job import RESUMABLE, Life
from workbench.jobs.registry import unusable
from workbench.workspace import Workspace

EXPECTED = (WorkbenchError, OSError, sqlite3.Error)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show what can go wrong anywhere in the place of what failed: a run that was deleted meanwhile, a full disk, a home that is closed."""
    try:
        yield
    except EXPECTED as error:
        st.error(prose(sentence(error)))


def sentence(error: Exception) -> str:
    """What a reader can do something about."""
    return unusable(Workspace.default(), error) if isinstance(error, sqlite3.Error) else str(error)


def attempt(action: Callable[[], object]) -> None:
    """Do something to a run and draw the page anew; an expected error is shown instead."""
    with errors_shown():
        action()
        st.rerun()


def cancel_or_resume(job: Life, prefix: str) -> None:
    """A button to cancel an active run or other job, one to resume a stopped one; a paused one has both."""
    can_be_cancelled = job.is_active and job.state != "cancelling"
    if can_be_cancelled and st.button("Cancel", key=f"{prefix}cancel", icon=":material/stop_circle:", help="Keeps what it can and stops."):
        attempt(lambda: control.request_cancel(Workspace.default(), job.id))
    if job.state in RESUMABLE and st.button("Resume", key=f"{prefix}resume", icon=":material/resume:"):
        attempt(lambda: runs.resume(Workspace.default(), job.id))
