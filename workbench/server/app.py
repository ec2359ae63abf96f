"""The dashboard, which `workbench app` serves: the navigation, and the page that the address names."""

import streamlit as st

from workbench.escaping import prose
from workbench.pages import PAGES, SHOWS_PRIVATE, VISITOR, entry
from workbench.server import start
from workbench.ui.actions import errors_shown
from workbench.ui.theme import apply_style, icon, title

st.set_page_config(page_title="DP diffusion workbench", page_icon=icon(), layout="wide")
apply_style()
if not start.guarded:
    st.error(start.UNGUARDED)
    st.stop()
user = st.context.headers.get(start.access.header) if start.access.header else None
st.session_state[VISITOR] = (user or "").strip()
is_holder = st.session_state[SHOWS_PRIVATE] = start.access.shows_private(user)
open_pages = [name for name, known in PAGES.items() if known.public or is_holder]
page = st.navigation([entry(name, open_pages[0]) for name in open_pages], position="top")
title(page.title, next(known.lead for known in PAGES.values() if known.title == page.title))  # a page's modules may take a second to load
if not is_holder:
    st.caption(f"You are {prose(user or 'not known')}, and no data holder of this workbench: pages about its records and runs are closed.")
with errors_shown():  # what a page cannot help; a user's choices are answered where they are made
    page.run()
