"""What has been spent on each dataset here, in total and run by run, against its budget."""

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import LedgerEntry, why_unlike
from workbench.runs.store import RunStore
from workbench.ui.cards import value_card
from workbench.ui.formats import counted, number
from workbench.ui.spent import total_of
from workbench.ui.words import explained
from workbench.workspace import Workspace

EVERY_RUN_COUNTS = (
    "Every run counts: unfinished and deleted ones too, and those that only served to choose settings. The total is under the zero-out "
    "relation (replace special: one record becomes a null record), whatever relation the bound of a single run has."
)
FIRST_BUDGET = "`workbench ledger --dataset NAME --budget EPSILON --delta DELTA` sets a dataset's budget before its first run."


def ledger_section(prefix: str) -> None:
    """A dataset chosen, its runs, the composed total of all or of some of them, and its budget."""
    ledger = Ledger(Workspace.default().ledger)
    everything = ledger.entries()
    if not everything:
        st.caption(f"Nothing has been spent yet: no run has touched a private record. {FIRST_BUDGET}")
        return
    names = list(dict.fromkeys(entry.account for entry in everything))
    help_text = "The name that a dataset's runs are counted under, whatever version of its records they were on."
    account = st.selectbox("Dataset", names, key=f"{prefix}dataset", bind="query-params", help=help_text)
    entries = ledger.entries(account)
    st.dataframe(entry_frame(entries), hide_index=True, alt=f"{counted(len(entries), 'run')} in the ledger of {account}")
    st.caption(EVERY_RUN_COUNTS)
    runs = [entry.run_id for entry in entries]
    chosen = st.multiselect("Total of", runs, key=f"{prefix}runs", bind="query-params", placeholder="all runs, finished or not")
    total, budget = st.columns(2)
    with total:
        counts = str([(entry.run_id, [stage.count for stage in entry.stages]) for entry in entries])
        spent = total_of(str(ledger.path), account, tuple(chosen) or None, counts)
        value_card("Spent in total", spent, explained("ledger", "Composed under the zero-out relation."))
        if unlike := why_unlike(spent, bounds_alone(chosen or runs)):
            st.caption(unlike)
    with budget, st.container(border=True, height="stretch"):
        st.markdown("**Budget**")
        budget_form(ledger, account, prefix)


def bounds_alone(runs: Sequence[str]) -> dict[str, PrivacyValue]:
    """The bound that each run has for itself, as the Runs page shows it; deleted runs have none."""
    return {run.id: run.bound for run in RunStore(Workspace.default()).list() if run.id in runs}


def entry_frame(entries: Sequence[LedgerEntry]) -> pd.DataFrame:
    """A row a run: what it is, whether it may spend more, and how many of its paid steps are spent."""
    return pd.DataFrame(
        [
            {
                "Run": entry.run_id,
                "Records": f"{entry.dataset} ({entry.fingerprint})",
                "Method": entry.method,
                "Purpose": entry.purpose,
                "Public images": entry.public or "none",
                "Opened": entry.opened_at[:16].replace("T", " "),
                "Closed": entry.closed_at[:16].replace("T", " ") if entry.closed_at else "may still spend",
                "Spent": "; ".join(
                    f"{stage.stage}: {stage.count:,} of {stage.reserved:,}" for stage in entry.stages if stage.spent != "free"
                )
                or "nothing",
            }
            for entry in entries
        ]
    )


def budget_form(ledger: Ledger, account: str, prefix: str) -> None:
    """The dataset's budget, and a form to set it; a launch that could exceed it is warned of."""
    budget = ledger.budget(account)
    known = (
        "none set" if budget is None or math.isinf(budget.epsilon) else f"epsilon {number(budget.epsilon)} at delta {number(budget.delta)}"
    )
    st.caption(f"All runs on this dataset together: {known}. A launch that could exceed it is warned of on the Train page.")
    with st.form(f"{prefix}budget_form", border=False):
        epsilon = st.number_input(
            "Budget epsilon", min_value=0.0, value=None, step=None, format="%g", key=f"{prefix}budget_epsilon", placeholder="say, 10"
        )
        delta = st.number_input(
            "Delta", 0.0, 1.0, None, step=None, format="%g", key=f"{prefix}budget_delta", placeholder="say, 1e-5", help=explained("delta")
        )
        if st.form_submit_button("Set the budget", key=f"{prefix}budget_set"):
            try:
                if epsilon is None or delta is None:
                    raise WorkbenchError("Expected both an epsilon and a delta for the budget.")
                ledger.set_budget(account, epsilon, delta)
            except WorkbenchError as error:
                st.error(prose(error))
            else:
                st.rerun()
