"""What is declared public of the user's own table: proposed from its rows, changed by the user, and public once they say so."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from workbench.datasets.csv_table import BESIDE
from workbench.datasets.declaration import TableDeclaration
from workbench.datasets.proposal import WARNING
from workbench.datasets.row_files import text_rows
from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.evaluation.declared_columns import NOISE, PRIVATE, report
from workbench.ui.actions import errors_shown
from workbench.ui.declaration_grid import declaration_from, edited_rows, proposed_rows, rows_of, show_declaration
from workbench.ui.kept_drafts import Draft, drop_draft, keep_draft, kept_draft

PUBLIC = "What stands here is public: it is in the address, in the request, and in every plan and run that is made with it."
BEFORE = (
    "Nothing is declared yet. **Propose from the rows** fills a grid with what the columns seem to be, for your eyes alone; change it, and "
    "confirm it."
)
UNCONFIRMED = "Nothing is declared yet: what stands in the grid is yours alone until you confirm it."
IGNORED = "The grid above is not confirmed, so nothing in it counts: plans and runs take what is declared below."
MOST_ROWS = "At most so many rows of each take part, drawn by chance in every run; a bound then protects the person with all of them."
CONFIRMING = "Confirming makes all that stands in this grid public: the columns' names, their limits and bins, and every category."


def declared_choice(path: str, key: str, **common: Any) -> str | None:
    """The declaration as text, or None where what stands beside the file is taken; a grid proposes one from the rows when asked to.

    Ends the page where there is none yet, or no table.
    """
    place = Path(path).expanduser()
    beside = place.with_suffix(BESIDE)
    with ending_the_page():
        header, rows = text_rows(place)
        deque(rows, maxlen=0)
    draft(place, header, key)
    above = st.container()
    with st.expander("The declaration as text"):
        placeholder = f"empty: {beside.name} beside the file"
        text = st.text_area("Declared public", key=f"{key}declared", placeholder=placeholder, help=PUBLIC, **common)
    with above, ending_the_page():
        if not (text or beside.is_file()):
            st.info(BEFORE if not st.session_state.get(f"{key}draft") else UNCONFIRMED, icon=":material/table_chart:")
            st.stop()
        if st.session_state.get(f"{key}draft"):
            st.warning(IGNORED, icon=":material/edit:")
        known = TableDeclaration.parse(text or str(beside))
        show_declared(known, "" if text else beside.name, key)
        left_of_columns(place, lambda: known, f"{key}declared_")
    return text


@contextmanager
def ending_the_page() -> Iterator[None]:
    """Show what is wrong with a file or its declaration as the last thing on the page."""
    try:
        yield
    except WorkbenchError as error:
        st.error(prose(error))
        st.stop()


def show_declared(known: TableDeclaration, beside: str, key: str) -> None:
    """What is declared, as a grid to look at, and a button that opens it to be changed."""
    st.markdown("**Declared public**" + f", as {markdown(beside)} beside the file says" * bool(beside))
    show_declaration(known)
    if known.person:
        st.caption(markdown(f"A bound protects a person ({known.person}), by at most {known.rows_per_person} rows of each."))
    for rule in known.never:
        together = " and ".join(f"{name} {' or '.join(values)}" for name, values in rule.items())
        st.markdown(f"In no row that is drawn: {markdown(together)}.")
    if st.button("Change", key=f"{key}change", icon=":material/edit:"):
        show_grid(Draft(rows=rows_of(known), never=known.never, rows_per_person=known.rows_per_person or None), key)
        st.rerun()


def draft(path: Path, header: Sequence[str], key: str) -> None:
    """A proposal in a grid, which stays here, also through a reload, until it is confirmed or discarded."""
    if st.session_state.get(f"{key}draft_of") != str(path):
        st.session_state[f"{key}draft_of"] = str(path)
        kept = kept_draft(path)
        show_grid(kept if kept and {row["column"] for row in kept.rows} <= {*header} else None, key)
    if st.button("Propose from the rows", key=f"{key}propose", icon=":material/table_view:"):
        with errors_shown():
            rows, reasons = proposed_rows(path)
            show_grid(Draft(rows=rows, reasons=reasons), key)
            st.rerun()
    if not (rows := st.session_state.get(f"{key}draft")):
        return
    st.warning(WARNING)
    for reason in st.session_state.get(f"{key}reasons", []):
        st.info(f"Not read, unless you declare it: {markdown(reason)}")
    changed = edited_rows(rows, f"{key}grid_{st.session_state[f'{key}drafts']}")
    most_rows: int | None = None
    if any(row["person"] for row in changed):
        most_rows = st.number_input("Rows of each person", min_value=1, value=None, step=1, key=f"{key}rows_per_person", help=MOST_ROWS)
    never = st.session_state[f"{key}never"]
    now = Draft(rows=changed, reasons=st.session_state[f"{key}reasons"], never=never, rows_per_person=most_rows)
    if now != st.session_state.get(f"{key}kept_draft"):  # what another browser keeps is overwritten by a change alone
        with errors_shown():
            keep_draft(path, now)
            st.session_state[f"{key}kept_draft"] = now
    left_of_columns(path, lambda: declaration_from(changed, most_rows, never), f"{key}draft_")
    st.markdown(CONFIRMING)
    with st.container(horizontal=True):
        confirms = st.button("Declare all of this public", key=f"{key}confirm", type="primary")
        with st.popover("Discard this grid", icon=":material/delete:"):
            discards = st.button("Discard it, with all that was changed", key=f"{key}discard")
    if confirms or discards:
        with errors_shown():
            if confirms:
                st.session_state[f"{key}declared"] = declaration_from(changed, most_rows, never).text
            drop_draft(path)
            show_grid(None, key)
            st.rerun()


def left_of_columns(path: Path, declaration: Callable[[], TableDeclaration], key: str) -> None:
    """What a declaration leaves of each column, and the noise on it, looked up in the rows when asked for."""
    with st.expander("What is left of each column (private)"):
        epsilon = st.number_input("Noise at epsilon", min_value=0.001, max_value=1e3, value=1.0, key=f"{key}left_epsilon")
        if st.button("Look at the rows", key=f"{key}left"):
            with errors_shown():
                rows = report(path, declaration(), epsilon)
                st.warning(PRIVATE, icon=":material/lock:")
                st.dataframe(rows, hide_index=True, alt="What is left of each declared column (private)")
                st.caption(markdown(NOISE))


def show_grid(draft: Draft | None, key: str) -> None:
    """Show a draft in a grid of its own, whatever was changed in the one before; none closes the grid."""
    drafts = st.session_state.get(f"{key}drafts", 0) + 1
    shown = draft or Draft(rows=[])
    st.session_state.pop(f"{key}kept_draft", None)
    st.session_state.update({f"{key}draft": shown.rows, f"{key}reasons": shown.reasons, f"{key}drafts": drafts, f"{key}never": shown.never})
    if draft is not None:
        st.session_state[f"{key}rows_per_person"] = draft.rows_per_person
