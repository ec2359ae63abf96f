"""Content that takes a while to make and that few open: made when it is opened, and not before."""

from collections.abc import Callable

import streamlit as st


@st.fragment
def on_demand(label: str, key: str, draw: Callable[[], None]) -> None:
    """An expander whose content `draw` makes once it is open, without drawing the rest of the page anew."""
    with st.expander(label, key=key, on_change="rerun") as opened:
        if opened.open:
            draw()
