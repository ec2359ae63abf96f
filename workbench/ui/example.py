"""The example run, where there is nothing to look at yet."""

import streamlit as st

from workbench.runs.selection import Selection
from workbench.runs.store import RunStore
from workbench.tasks import example
from workbench.ui.actions import attempt, errors_shown
from workbench.ui.jobs import AutomaticJob, automatic_job, show_job
from workbench.workspace import Workspace

NEWEST_DONE = 50  # among which one of the reader's own is looked for
POLL_SECONDS = 4.0  # later than a measurement of the pace, which a reader of the Budget page waits for
OFFER = "No run has finished here yet. The tour is on a small example, made in the background in a minute or two."
MAKING = "A small example run is being made, once, so that there is something to look at …"


def example_notice(prefix: str) -> None:
    """Where no run has finished, a small example is made; its end draws the page anew.

    Keys of widgets begin with `prefix`.
    """
    workspace = Workspace.default()
    making = AutomaticJob(lambda: example.find_job(workspace), lambda: example.begin(workspace), lambda: not _is_wanted())
    with errors_shown():
        if _is_wanted():
            automatic_job(making, f"{prefix}example_", MAKING, POLL_SECONDS)


def offer_example(prefix: str) -> None:
    """A button that has the example made, and how far that is: for a page that begins nothing by itself."""
    workspace = Workspace.default()
    job = example.find_job(workspace)
    if job is not None and job.state != "done":
        show_job(job, f"{prefix}example_")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(OFFER, width="content")
        if not workspace.is_read_only and st.button("Make the example", key=f"{prefix}example", icon=":material/play_arrow:"):
            attempt(lambda: example.begin(workspace))


def _is_wanted() -> bool:
    return example.is_wanted(Workspace.default(), RunStore(Workspace.default()).select(Selection(states=("done",), limit=NEWEST_DONE)))
