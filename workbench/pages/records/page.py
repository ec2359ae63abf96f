"""The Records page from top to bottom."""

from collections.abc import Callable

import streamlit as st

from workbench.pages.records.exposure import exposure_section
from workbench.pages.records.search import search_section
from workbench.runs.exposure import PRIVATE, tells_records
from workbench.runs.run import Run
from workbench.ui.actions import errors_shown
from workbench.ui.cards import run_marks
from workbench.ui.example import example_notice
from workbench.ui.runs import known_runs, run_choice

PREFIX = "records_"
EVERY, ONE = "Every record", "Am I in there?"
SECTIONS: dict[str, Callable[[Run, str], None]] = {EVERY: exposure_section, ONE: search_section}


def draw() -> None:
    """A run, and what it shows: of every record where its method tells that, of one record that is looked for in any run."""
    st.warning(PRIVATE, icon=":material/lock:")
    finished = [run for run in known_runs() if run.state == "done"]
    if not finished:
        st.info("No run has finished yet. Train one on the Train page, then come back. ddm on a table tells of every record.")
        example_notice(PREFIX)
        return
    chosen = run_choice(f"{PREFIX}run", runs=finished)
    run = next(run for run in finished if run.id == chosen)
    run_marks(run)
    with errors_shown():
        SECTIONS[view(run)](run, PREFIX)


def view(run: Run) -> str:
    """What to look at; a choice only where the method tells of every record."""
    if not tells_records(run.plan):
        return ONE
    return st.segmented_control("View", list(SECTIONS), default=EVERY, key=f"{PREFIX}view", bind="query-params", required=True) or EVERY
