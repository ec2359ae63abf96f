"""The Audit page from top to bottom."""

from collections.abc import Callable

import streamlit as st

from workbench.pages.audit.attacks import game_section, membership_section
from workbench.pages.audit.claims import claims_section
from workbench.pages.audit.copies import copies_section
from workbench.pages.audit.measured import measured_section
from workbench.pages.audit.pac import pac_section
from workbench.pages.audit.records import leakage_section
from workbench.pages.audit.votes import votes_section
from workbench.runs.run import Run
from workbench.ui.actions import errors_shown
from workbench.ui.cards import run_marks
from workbench.ui.example import example_notice
from workbench.ui.runs import known_runs, run_choice

PREFIX = "audit_"
PRIVATE = "What an attack finds is private: it saw training and held-out records without noise. Nothing here is charged to the ledger."
SECTIONS: dict[str, Callable[[Run, str], None]] = {
    "Measured epsilon": measured_section,
    "Membership": membership_section,
    "Game": game_section,
    "Copies": copies_section,
    "PAC": pac_section,
    "Records": leakage_section,
    "Votes": votes_section,
    "Papers' claims": claims_section,
}


def draw() -> None:
    """A run, one attack on it: what it asks, what it costs, what it found."""
    st.warning(PRIVATE, icon=":material/lock:")
    finished = [run for run in known_runs() if run.state == "done"]
    if not finished:
        st.info("No run has finished yet. Train one on the Train page, then come back.")
        example_notice(PREFIX)
        return
    chosen = run_choice(f"{PREFIX}run", finished)
    run = next(one for one in finished if one.id == chosen)
    run_marks(run)
    what = st.segmented_control(
        "Attack", list(SECTIONS), default=next(iter(SECTIONS)), key=f"{PREFIX}what", bind="query-params", required=True
    )
    with errors_shown():
        SECTIONS[what or next(iter(SECTIONS))](run, f"{PREFIX}{run.id}_")
