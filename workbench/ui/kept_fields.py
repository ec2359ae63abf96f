"""Fields that are saved as soon as they are left, each by itself: a reload loses nothing, and two browsers overwrite no other field."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from workbench.escaping import prose
from workbench.ui.actions import EXPECTED, sentence

SAVED = "Each field is saved when you leave it."


def kept_field(widget: Callable[..., Any], words: str, kept: Any, key: str, save: Callable[[Any], object], **how: Any) -> None:
    """A widget that shows what is `kept` now, and has `save` keep what is put into it; a refusal stands below what was typed.

    `widget` is a Streamlit one with a label (`words`), a key and `on_change`; `how` are its other arguments.
    """
    refused = f"{key}_refused"
    if refused not in st.session_state:
        st.session_state[key] = kept

    def keep() -> None:
        st.session_state.pop(refused, None)
        try:
            save(st.session_state[key])
        except EXPECTED as error:
            st.session_state[refused] = sentence(error)

    widget(words, key=key, on_change=keep, **how)
    if words_of_refusal := st.session_state.get(refused):
        st.error(prose(words_of_refusal))
