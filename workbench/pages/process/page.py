"""The Process page from top to bottom."""

import streamlit as st

from workbench.pages.process.panels import PANELS
from workbench.ui.actions import errors_shown

PREFIX = "process_"


def draw() -> None:
    """One panel at a time: its question, its choices, what comes of them, and the same as a file."""
    name = st.segmented_control(
        "Panel", list(PANELS), default="forward", required=True, key=f"{PREFIX}panel", bind="query-params",
        format_func=lambda known: PANELS[known].title, label_visibility="collapsed",
    )  # fmt: skip
    panel, prefix = PANELS[name if name in PANELS else "forward"], f"{PREFIX}{name}_"
    lead, place = st.columns([4, 1], vertical_alignment="center")
    lead.markdown(f"**{panel.lead}**")
    with errors_shown():
        choices = panel.choose(prefix)
        with st.spinner("Computing on the bundled digits …", show_time=False):
            panel.show(choices, prefix)
        place.download_button(
            "This panel as a file", lambda: panel.file(choices), f"{name}.html", "text/html", key=f"{prefix}file", on_click="ignore",
            icon=":material/download:", help="One HTML file that opens without installation and without a network.",
        )  # fmt: skip
