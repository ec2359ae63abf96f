"""The words of the workbench on every page: a list to search in, whose choice is in the address."""

import streamlit as st

from workbench.words import ALSO, WORDS, define

KEY = "word"
NAMES = (*WORDS, *ALSO)


@st.fragment
def words_popover() -> None:
    """A button that opens a field to search in, and what the chosen word means; an address with a word opens it."""
    if "words" not in st.session_state:
        st.session_state["words"] = st.query_params.get(KEY) in NAMES
    with st.popover("Words", key="words", on_change="rerun", icon=":material/menu_book:"):
        word = st.selectbox(
            "Word", NAMES, index=None, key=KEY, bind="query-params", placeholder="Type a word, such as delta", label_visibility="collapsed"
        )
        if word is not None:
            st.markdown(f"**{word}**: {define(word)}")
            st.caption(f"The address of this page with `?{KEY}={word.replace(' ', '+')}` opens this.")


def explained(word: str, more: str = "") -> str:
    """The text behind a question mark where a word stands: its meaning, and `more`, Markdown that is particular to the place."""
    return "\n\n".join(filter(None, [define(word), more]))


def explained_all(*words: str) -> str:
    """The same of several words that stand together, each by its name."""
    return "\n\n".join(f"**{word.capitalize()}**: {define(word)}" for word in words)
