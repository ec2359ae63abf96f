"""The claims table on a page."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from workbench.claims import ClaimRow, claims_table
from workbench.runs.audits import audits
from workbench.ui.cards import epsilon_text
from workbench.ui.formats import number
from workbench.ui.theme import BOUND_WORDS, CLAIM_WORDS
from workbench.workspace import Workspace


@st.cache_data(show_spinner="Evaluating every paper's formula …")
def claim_rows() -> dict[str, ClaimRow]:
    """Every row of the claims table by method."""
    return {row.method: row for row in claims_table()}


def audited_methods() -> dict[str, str]:
    """By method the newest audit of a run here: what was measured, against which bound, of which run; at that run's own setting."""
    findings: dict[str, str] = {}
    for _, record in audits(Workspace.default()):
        measured, ceiling, bound = (number(value) for value in (record.epsilon, record.ceiling, record.bound))
        words = f"{measured} (at most {ceiling}) at bound {bound}: run {record.run}, {record.dataset}"
        findings.setdefault(record.method, f"ALARM: {words}" if record.is_alarm else words)
    return findings


def caught_at(row: ClaimRow) -> str:
    """What an attack measured, and at which claim, which is not that of the row's own setting; empty where nothing was attacked."""
    if row.caught is None:
        return ""
    return f"at least {number(row.caught.epsilon)} where the paper's formula gives {number(row.caught.claim)}"


def caught_short(row: ClaimRow) -> str:
    """As `caught_at`, in the width of a column."""
    return "" if row.caught is None else f"{number(row.caught.epsilon)} of a claimed {number(row.caught.claim)}"


def claims_frame(rows: Mapping[str, ClaimRow], audited: Mapping[str, str]) -> pd.DataFrame:
    """A line a method: claim, bound and audit, each number with the words for what it is; why it is so is told of one method at a time."""
    return pd.DataFrame(
        [
            {
                "Method": row.method,
                "Claimed epsilon": epsilon_text(row.claim),
                "The claim is": CLAIM_WORDS[row.claim.status],
                "Upper bound": epsilon_text(row.bound),
                "The bound is": BOUND_WORDS[row.bound.status],
                "Delta": "–" if row.bound.status == "not_evaluated" else number(row.bound.delta),
                "Audit (lower bound)": "; ".join(filter(None, [caught_short(row), audited.get(row.method, "")])) or "not audited",
            }
            for row in rows.values()
        ]
    )
