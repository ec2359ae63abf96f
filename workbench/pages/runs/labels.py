"""A run's name, tags and note on the Runs page, and the room that it takes."""

import streamlit as st

from workbench.escaping import markdown
from workbench.runs.housekeeping import size_of_run
from workbench.runs.labels import MOST_NAME, MOST_NOTE, label
from workbench.runs.run import Run
from workbench.ui.actions import attempt
from workbench.ui.formats import memory
from workbench.workspace import Workspace


def show_labels(run: Run) -> None:
    """Tags and size in a line, the note below it."""
    size = memory(size_of_run(Workspace.default(), run.id))
    st.caption(" · ".join([*map(markdown, run.tags), f"{size} on the disk"]))
    for line in run.note.splitlines():
        st.markdown(markdown(line))


def edit_labels(run: Run, prefix: str) -> None:
    """A form behind a button: what it saves stays in this home."""
    with st.popover("Label", icon=":material/label:"), st.form(f"{prefix}labels", border=False):
        name = st.text_input("Name", run.name, max_chars=MOST_NAME, key=f"{prefix}name")
        tags = st.text_input("Tags", " ".join(run.tags), key=f"{prefix}tags", help="Words of letters, digits, '.', '+', '-' and '_'.")
        note = st.text_area("Note", run.note, max_chars=MOST_NOTE, key=f"{prefix}note")
        st.caption("Names, tags and notes stay in this home: no export has them.")
        if st.form_submit_button("Save", key=f"{prefix}save_labels"):
            wanted = tags.replace(",", " ").split()
            gone = [tag for tag in run.tags if tag not in wanted]
            attempt(lambda: label(Workspace.default(), run.id, name, note, wanted, gone))
