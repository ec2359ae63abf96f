"""The dashboard, which `workbench app` serves."""

from pathlib import Path

import streamlit as st

import workbench.pages
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.server import start
from workbench.ui.theme import apply_style, icon, title

folder = Path(workbench.pages.__file__).parent
LEADS = {
    "Budget": "What a target epsilon costs, what it buys and what it means, before any record is touched.",
    "Train": "Choose a configuration, see what it costs before any record is touched, and launch it as a process of its own.",
    "Runs": "Every run on this machine. Each is a process of its own: closing the browser or the dashboard does not touch it.",
    "Gallery": "Does the model repeat the records it was trained on? Look at its samples beside the real records that lie nearest.",
    "Claims": "Three numbers for every method, never one: what the paper claims, what is proved, what an audit measured.",
}

st.set_page_config(page_title="DP diffusion workbench", page_icon=icon(), layout="wide")
apply_style()
if not start.guarded:
    st.error(start.UNGUARDED)
    st.stop()
page = st.navigation(
    [
        st.Page(folder / "budget.py", title="Budget", icon=":material/tune:", default=True),
        st.Page(folder / "train.py", title="Train", icon=":material/play_circle:"),
        st.Page(folder / "runs.py", title="Runs", icon=":material/list_alt:"),
        st.Page(folder / "gallery.py", title="Gallery", icon=":material/photo_library:"),
        st.Page(folder / "claims.py", title="Claims", icon=":material/fact_check:"),
    ],
    position="top",
)
title(page.title, LEADS[page.title])  # before the page is imported: what a page needs may take a second to load
try:
    page.run()
except WorkbenchError as error:  # a file of the workbench's own that cannot be read, say; a user's choices are answered where they are made
    st.error(markdown(error))
