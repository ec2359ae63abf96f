"""Attacks on what papers' unproved claims cover: shipped results, and those that are made here."""

import pandas as pd
import streamlit as st

from workbench.claims.caught import AttackResult, attack_of, attacked_rows
from workbench.escaping import prose
from workbench.jobs.job import WORKSPACE
from workbench.runs.refuted import kept_caught
from workbench.runs.run import Run
from workbench.ui.jobs import needed_job
from workbench.ui.privacy_charts import OnAxis, numbers_on_axis
from workbench.workspace import Workspace

CONFIDENCE = 0.99
ASKS = (
    "Many small runs on each of two neighboring data sets of made-up records, judged by a rule that was fixed before. None of your records "
    "is read."
)


def claims_section(run: Run, prefix: str) -> None:
    """A claim, the job that attacks it, and the lower bound beside what the paper's formula gives at the attack's own setting."""
    del run
    st.caption(ASKS)
    which, times = st.columns(2)
    name = which.selectbox("Claim", attacked_rows(), key="audit_claim", bind="query-params")
    trials = int(
        times.number_input("Runs with the record, and as many without", 2, 1_000_000, 200, key="audit_trials", bind="query-params")
    )
    own, shipped = kept_caught(Workspace.default(), name), attack_of(name)
    if not any(one.trials == trials for one in own):
        st.caption("2,000 trials take a minute or two.")
        request = {"name": name, "trials": trials, "confidence": CONFIDENCE, "seed": 0}
        needed_job("caught", WORKSPACE, request, f"{prefix}caught_", "Attack the claim")
    attacks = [*own, *([shipped] if shipped else [])]
    if not attacks:
        return
    first = attacks[0]
    axis = [OnAxis("paper's claim", first.claim), OnAxis("measured, at least", first.epsilon)]
    numbers_on_axis(axis, f"{prefix}claim_axis")
    (st.warning if first.is_caught else st.caption)(prose(first.words))
    st.dataframe(pd.DataFrame([row(one, one is shipped) for one in attacks]), hide_index=True, alt=f"Attacks on the claim of {name}")


def row(one: AttackResult, is_shipped: bool) -> dict[str, object]:
    """An attack in a line."""
    return {
        "Where": "shipped with the workbench" if is_shipped else "made here",
        "Trials": one.trials,
        "At least epsilon": one.epsilon,
        "Claimed there": one.claim,
        "Missed": one.missed,
        "Accused wrongly": one.accused,
        "Confidence": one.confidence,
    }
