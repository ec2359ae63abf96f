"""The dashboard, which `workbench app` serves: the navigation, and the page that the address names."""

import streamlit as st

from workbench.pages import PAGES, entry
from workbench.server import start
from workbench.ui.actions import errors_shown
from workbench.ui.theme import apply_style, icon, title

st.set_page_config(page_title="DP diffusion workbench", page_icon=icon(), layout="wide")
apply_style()
if not start.guarded:
    st.error(start.UNGUARDED)
    st.stop()
page = st.navigation([entry(name) for name in PAGES], position="top")
title(page.title, next(known.lead for known in PAGES.values() if known.title == page.title))  # a page's modules may take a second to load
with errors_shown():  # what a page cannot help; a user's choices are answered where they are made
    page.run()
