"""The claims table on a page."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from workbench.claims import ClaimRow, claims_table
from workbench.ui.cards import epsilon_text
from workbench.ui.theme import STATUS_WORDS


@st.cache_data(show_spinner="Evaluating every paper's formula …")
def claim_rows() -> dict[str, ClaimRow]:
    """Every row of the claims table by method."""
    return {row.method: row for row in claims_table()}


def claims_frame(rows: Mapping[str, ClaimRow]) -> pd.DataFrame:
    """A line a method: claim, bound and audit, each number with the words for what it is."""
    return pd.DataFrame(
        [
            {
                "Method": row.method,
                "Claimed epsilon": epsilon_text(row.claim),
                "The claim is": STATUS_WORDS[row.claim.status],
                "Upper bound": epsilon_text(row.bound),
                "The bound is": STATUS_WORDS[row.bound.status],
                "Audit (lower bound)": "not audited",
                "Why": row.bound.reason,
                "Source": row.source,
            }
            for row in rows.values()
        ]
    )
