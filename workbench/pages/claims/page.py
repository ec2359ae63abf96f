"""The Claims page from top to bottom."""

import streamlit as st

from workbench.escaping import prose
from workbench.pages.claims.ledger import ledger_section
from workbench.pages.claims.table import audited_methods, caught_at, claim_rows, claims_frame
from workbench.ui.cards import three_numbers

PREFIX = "claims_"


def draw() -> None:
    """The table of all methods, one of them in cards, and the ledger."""
    rows = claim_rows()
    st.dataframe(claims_frame(rows, audited_methods()), hide_index=True, alt=f"Claimed and proved epsilon of {len(rows)} methods")
    st.caption(
        "Each formula is evaluated at one stated setting, at delta 10⁻⁵. Only a proved upper bound is a guarantee; ∞ says that none is "
        "known, or that the analysed release provably has none. A method whose formula our notes do not hold is not evaluated."
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
        f"Why: {row.bound.reason}",
        f"Source: {row.source}",
    )
    st.caption("  \n".join(prose(text) for text in grounds if text))
    st.header("Spent on each dataset", anchor=False)
    ledger_section(PREFIX)
