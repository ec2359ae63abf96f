"""A run's name, tags and note on the Runs page, and the room that it takes."""

import streamlit as st

from workbench.escaping import markdown
from workbench.runs.housekeeping import size_of_run
from workbench.runs.labels import MOST_NAME, MOST_NOTE, label
from workbench.runs.run import Run
from workbench.ui.formats import memory
from workbench.ui.kept_fields import SAVED, kept_field
from workbench.workspace import Workspace


def show_labels(run: Run) -> None:
    """Tags and size in a line, the note below it."""
    size = memory(size_of_run(Workspace.default(), run.id))
    st.caption(" · ".join([*map(markdown, run.tags), f"{size} on the disk"]))
    for line in run.note.splitlines():
        st.markdown(markdown(line))


def edit_labels(run: Run, prefix: str) -> None:
    """Fields behind a button: what they save stays in this home."""

    def tag(text: str) -> None:
        wanted = text.replace(",", " ").split()
        label(Workspace.default(), run.id, tags=wanted, untag=[one for one in run.tags if one not in wanted])

    with st.popover("Label", icon=":material/label:"):
        kept_field(
            st.text_input,
            "Name",
            run.name,
            f"{prefix}name",
            lambda text: label(Workspace.default(), run.id, name=text),
            max_chars=MOST_NAME,
        )
        words = "Words of letters, digits, '.', '+', '-' and '_'."
        kept_field(st.text_input, "Tags", " ".join(run.tags), f"{prefix}tags", tag, help=words)
        kept_field(
            st.text_area, "Note", run.note, f"{prefix}note", lambda text: label(Workspace.default(), run.id, note=text), max_chars=MOST_NOTE
        )
        st.caption(f"{SAVED} Names, tags and notes stay in this home: no export has them.")
