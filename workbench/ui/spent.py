"""What all runs on a dataset have spent together, composed once for every state of the ledger."""

import streamlit as st

from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.workspace import Workspace


def total_of(path: str, account: str, runs: tuple[str, ...] | None, counts: str) -> PrivacyValue:
    """The composed total, at the budget's delta if there is one; `path` and `counts` tell one state of one ledger from every other."""
    return _total_of(path, account, runs, counts, str(Ledger(Workspace.default().ledger).budget(account)))


@st.cache_data(max_entries=50, show_spinner="Composing all runs …")
def _total_of(path: str, account: str, runs: tuple[str, ...] | None, counts: str, budget: str) -> PrivacyValue:
    del path, counts, budget
    return Ledger(Workspace.default().ledger).total(account, runs)
