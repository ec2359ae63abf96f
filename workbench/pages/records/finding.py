"""Which record is it? A person's picture, or what is known of their row, leads to the records that are nearest to it."""

import streamlit as st

from workbench.datasets import Dataset
from workbench.datasets.folder import SUFFIXES
from workbench.escaping import markdown
from workbench.evaluation.lookup import PRIVATE, Match, Matches, declared_columns, like_picture, like_row
from workbench.records import TableKind
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number

ABOUT = f"{PRIVATE} What is given here stays out of the address, and is not kept."
AT_ONCE = 5  # buttons in a row
LEAST_WIDTH = 200  # of a known column, in pixels


def find_section(dataset: Dataset, prefix: str) -> None:
    """What is known of the record that is looked for; buttons for the nearest ones, which choose one of them."""
    with st.expander("Find a record by a picture or a row", icon=":material/search:"), errors_shown():
        matches = by_row(dataset, prefix) if isinstance(dataset.facts.kind, TableKind) else by_picture(dataset, prefix)
        st.caption(ABOUT)
        if matches is not None:
            show_matches(matches, prefix)


def by_picture(dataset: Dataset, prefix: str) -> Matches | None:
    """The images nearest to a file; None until there is one."""
    file = st.file_uploader("A picture, of any size", [suffix.removeprefix(".") for suffix in SUFFIXES], key=f"{prefix}picture")
    return None if file is None else like_picture(dataset, file.getvalue(), AT_ONCE)


def by_row(dataset: Dataset, prefix: str) -> Matches | None:
    """The rows that differ least from what is known; None until something is."""
    columns = {column.name: column for column in declared_columns(dataset)}
    named = st.multiselect("Columns that you know", list(columns), key=f"{prefix}known", placeholder="such as the first")
    with st.grid(columns="auto", min_column_width=LEAST_WIDTH):
        known = {name: st.selectbox(name, columns[name].column.categories, key=f"{prefix}known_{name}") for name in named}
    return like_row(dataset, known, AT_ONCE) if known else None


def show_matches(matches: Matches, prefix: str) -> None:
    """How many are equal, and a button for each of the nearest."""
    st.markdown(f"**{matches.equal:,}** records are equal to it. The nearest:")
    with st.container(horizontal=True, gap="small"):
        for match in matches.nearest:
            text = markdown(f"{match.side} {match.record}, at {number(match.distance)}")
            st.button(text, key=f"{prefix}to_{match.side}_{match.record}", on_click=_choose, args=(match, prefix))


def _choose(match: Match, prefix: str) -> None:
    st.session_state[f"{prefix}side"], st.session_state[f"{prefix}number"] = match.side, match.record
