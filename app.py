"""The dashboard, which `workbench app` serves."""

from pathlib import Path

import streamlit as st

import workbench.pages
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.server import start
from workbench.ui.theme import apply_style, icon

folder = Path(workbench.pages.__file__).parent

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
try:
    page.run()
except WorkbenchError as error:  # a file of the workbench's own that cannot be read, say; a user's choices are answered where they are made
    st.error(markdown(error))
