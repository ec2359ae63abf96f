"""What all runs on a dataset have spent together, composed once for every state of the ledger."""

from collections.abc import Sequence

import streamlit as st

from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import LedgerEntry, zero_out_total
from workbench.workspace import Workspace


def total_of(path: str, account: str, runs: tuple[str, ...] | None, counts: str) -> PrivacyValue:
    """The composed total, at the budget's delta if there is one; `path` and `counts` tell one state of one ledger from every other."""
    return _total_of(path, account, runs, counts, str(Ledger(Workspace.default().ledger).budget(account)))


@st.cache_data(max_entries=50, show_spinner="Composing all runs …")
def _total_of(path: str, account: str, runs: tuple[str, ...] | None, counts: str, budget: str) -> PrivacyValue:
    del path, counts, budget
    return Ledger(Workspace.default().ledger).total(account, runs)


def reserved_epsilon(entries: Sequence[LedgerEntry], delta: float) -> float:
    """The same total of these entries at `delta`, open ones with all that they may spend; 0 of none."""
    return _reserved_epsilon(repr(entries), delta, entries) if entries else 0.0


@st.cache_data(max_entries=50, show_spinner="Composing all runs …")
def _reserved_epsilon(state: str, delta: float, _entries: Sequence[LedgerEntry]) -> float:
    del state  # tells these entries from any others
    return zero_out_total([(f"run {entry.run_id}", entry.paid_stages(reserve=True)) for entry in _entries], delta).epsilon
