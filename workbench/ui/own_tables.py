"""What is declared public of the user's own table: proposed from its rows, changed by the user, and public once they say so."""

from pathlib import Path
from typing import Any

import streamlit as st

from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.proposal import WARNING, propose
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.serialization import dumps

HEIGHT = 260  # pixels of the form
PUBLIC = "What stands here is public: it is in the address, in the request, and in every plan and run that is made with it."


def declared_choice(path: str, key: str, **common: Any) -> str | None:
    """The declaration as text, or None where what stands beside the file is taken; a form proposes one from the rows when asked to."""
    proposal(Path(path).expanduser(), key)
    placeholder = "empty: what stands beside the file as NAME.declared.json"
    return st.text_area("Declared public", key=f"{key}declared", placeholder=placeholder, help=PUBLIC, height=HEIGHT // 2, **common)


def proposal(path: Path, key: str) -> None:
    """A proposal to be changed, which stays on this page until it is confirmed."""
    target, left_out, button = st.columns([1, 2, 1], vertical_alignment="bottom")
    named = target.text_input("Target column", key=f"{key}target", placeholder="the last", help="The column that is the class.")
    words = left_out.text_input("Leave out", key=f"{key}leave_out", placeholder="columns between commas", help="Columns that are not read.")
    if button.button("Propose from the rows", key=f"{key}propose", width="stretch"):
        fill(path, key, named, [word.strip() for word in words.split(",") if word.strip()])
    if not st.session_state.get(f"{key}draft"):
        return
    st.warning(WARNING)
    st.text_area("Proposal, private until it is declared", key=f"{key}draft", height=HEIGHT)
    st.button("Declare all of this public", key=f"{key}confirm", on_click=confirm, args=(key,), type="primary")
    if refused := st.session_state.pop(f"{key}refused", None):
        st.error(refused)


def fill(path: Path, key: str, target: str, leave_out: list[str]) -> None:
    """Put a proposal into the form, or say why there is none."""
    try:
        found = propose(path, target, leave_out)
    except WorkbenchError as error:
        st.error(markdown(error))
        return
    st.session_state[f"{key}draft"] = dumps(found.model_dump(exclude_defaults=True), indent=1)


def confirm(key: str) -> None:
    """Take the proposal as it stands for the declaration, if it is one."""
    try:
        st.session_state[f"{key}declared"] = TableDeclaration.parse(st.session_state[f"{key}draft"]).text
    except WorkbenchError as error:
        st.session_state[f"{key}refused"] = markdown(error)
        return
    st.session_state[f"{key}draft"] = ""
