"""The Start page from top to bottom: one screen."""

import math
from typing import NamedTuple

import pandas as pd
import streamlit as st

from workbench.escaping import markdown
from workbench.pages import entry
from workbench.pages.start.tour import tour
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.run import Run
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number
from workbench.ui.runs import known_runs, run_label
from workbench.ui.spent import total_of
from workbench.ui.words import explained
from workbench.workspace import Workspace

PREFIX = "start_"
RECENT = 3
WHAT = (
    "Train a generator of images or table rows on records that must stay private. See what it costs the people in them **before** a "
    "record is read (epsilon: how much one record can change what is published), train it, and check what came out, by attack too. Every "
    "method shows three numbers: what its paper **claims**, what is **proved** here, and what an audit **measured**."
)


class Way(NamedTuple):
    """Who comes in, what for, and the pages for it with the label of their link."""

    title: str
    about: str
    pages: dict[str, str]


WAYS = (
    Way(
        "Teach",
        "Noise, clipping, votes and attacks on real digits; every panel is a file too. `make lab` opens the lessons.",
        {"process": "Process", "claims": "Claims"},
    ),
    Way(
        "Tune",
        "Which method, at which epsilon, at what cost in time and privacy?",
        {"budget": "Budget", "train": "Train", "runs": "Runs"},
    ),
    Way(
        "Audit",
        "Does it copy, what can an attacker find out, who signs?",
        {"gallery": "Gallery", "audit": "Audit", "dossier": "Dossier"},
    ),
)


def draw() -> None:
    """What this is, three ways in, the tour, recent runs and what is left."""
    st.markdown(WHAT)
    for column, way in zip(st.columns(len(WAYS)), WAYS, strict=True):
        with column, st.container(border=True, height="stretch", gap="xsmall"):
            st.markdown(f"**{way.title}**")
            st.caption(way.about)
            with st.container(horizontal=True, gap="small"):
                for page, label in way.pages.items():
                    st.page_link(entry(page), label=label)
    with errors_shown():
        runs = known_runs()
        st.header("A tour of two minutes", anchor=False)
        tour(looked_at(runs), PREFIX)
        left, right = st.columns([1.3, 1], gap="large")
        with left:
            st.header("Recent runs", anchor=False)
            with st.container(gap="xxsmall"):
                recent_runs(runs[:RECENT])
        with right:
            st.header("Budget left", anchor=False, help=explained("ledger"))
            budget_left()


def looked_at(runs: list[Run]) -> Run | None:
    """The finished run that the tour is on: the example, else the newest of one's own; None where there is none."""
    finished = [run for run in runs if run.state == "done"]
    return next((run for run in finished if run.example and run.audit is None), finished[0] if finished else None)


def recent_runs(recent: list[Run]) -> None:
    """A link to each of the newest runs, with how it stands."""
    if not recent:
        st.caption("None yet. The Train page begins one; a first run takes seconds.")
    for run in recent:
        bound = f" · proved epsilon {number(run.bound.epsilon)} at delta {number(run.delta)}" if run.state == "done" else ""
        label = f"{run.id} · {run.method} on {run.dataset}"
        st.page_link(entry("runs"), label=markdown(label), query_params={"runs_chosen": [run_label(run)]})
        st.caption(f"{run.state}{bound}{' · example' * run.example}")  # a link is one line, which a narrow window cuts


def budget_left() -> None:
    """What has been spent on each dataset, of what it may, as the ledger has it."""
    ledger = Ledger(Workspace.default().ledger)
    accounts = list(dict.fromkeys(entry.account for entry in reversed(ledger.entries())))[:RECENT]
    if not accounts:
        st.caption("Nothing has been spent: no run has touched a private record.")
        return
    rows = [account_row(ledger, account) for account in accounts]
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt=f"What is spent and left on {len(rows)} datasets")


def account_row(ledger: Ledger, account: str) -> dict[str, str]:
    """A dataset's total, its budget, and what is left between them; epsilons of different runs do not simply add up."""
    entries, budget = ledger.entries(account), ledger.budget(account)
    counts = str([(one.run_id, [stage.count for stage in one.stages]) for one in entries])
    spent: PrivacyValue = total_of(str(ledger.path), account, None, counts)
    most = math.inf if budget is None else budget.epsilon
    left = "–" if math.isinf(most) else number(max(0.0, most - spent.epsilon))
    return {
        "Dataset": account,
        "Spent epsilon": number(spent.epsilon),
        "Budget": "not set" if math.isinf(most) else number(most),
        "Left": left,
        "At delta": number(spent.delta),
    }
