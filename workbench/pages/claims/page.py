"""The Claims page from top to bottom."""

import streamlit as st

from workbench.claims.places import place_of
from workbench.claims.row import demonstration_of, reasons_of
from workbench.escaping import prose
from workbench.methods import METHODS
from workbench.pages import SHOWS_PRIVATE, go_to
from workbench.pages.claims.ledger import ledger_section
from workbench.pages.claims.table import audited_methods, caught_at, claim_rows, claims_frame
from workbench.ui.cards import three_numbers
from workbench.ui.words import explained

PREFIX = "claims_"
CHARACTER = 8  # pixels, so that no name is cut


def look_at_marked(names: list[str]) -> None:
    """Open the row that is marked, as if its method had been picked by name."""
    marked = st.session_state[f"{PREFIX}table"]["selection"]["rows"]
    if marked and marked[0] < len(names):
        st.session_state[f"{PREFIX}method"] = names[marked[0]]


def draw() -> None:
    """The table of all methods, one of them in cards, and the ledger for who may see it."""
    rows, is_holder = claim_rows(), bool(st.session_state.get(SHOWS_PRIVATE))
    st.dataframe(
        claims_frame(rows, audited_methods()), hide_index=True, alt=f"Claimed and proved epsilon of {len(rows)} methods",
        key=f"{PREFIX}table", selection_mode="single-row", on_select=lambda: look_at_marked(list(rows)),
        column_config={"Method": st.column_config.Column(width=max(map(len, rows)) * CHARACTER)},
    )  # fmt: skip
    st.caption(
        "Each formula is evaluated at one stated setting and at the delta beside it. Only a proved upper bound is a guarantee; ∞ says that "
        "none is known, or that the analysed release provably has none. A method whose formula our notes do not hold is not evaluated."
    )
    chosen = st.selectbox(
        "Look at one method", list(rows), key=f"{PREFIX}method", bind="query-params", format_func=lambda name: rows[name].title
    )
    row = rows[chosen]
    three_numbers(row.claim, row.bound, None if row.caught is None else row.caught.value, ceiling=caught_at(row))
    if row.caught is not None:
        st.warning(prose(row.caught.words))
    grounds = (
        f"Formula: {row.formula}" if row.formula else "",
        f"Setting: {row.setting}" if row.setting else "",
        f"Why: {' '.join(reasons_of(row))}",
        f"Source: {row.source}",
        demonstration_of(row, row.method in METHODS),
        place_of(row.method).words,
        f"On the command line: `workbench claims {row.method}`",
    )
    st.caption("  \n".join(prose(text) for text in grounds if text))
    if row.caught is not None and is_holder and st.button("Attack the claim yourself", key=f"{PREFIX}attack", icon=":material/policy:"):
        go_to("audit", {"audit_what": "Papers' claims", "audit_claim": row.method})
    if not is_holder:
        return
    st.header("Spent on each dataset", anchor=False, help=explained("ledger"))
    ledger_section(PREFIX)
