"""The measured epsilon beside claim and bound, with what the audit could have said at most."""

import streamlit as st

from workbench.escaping import prose
from workbench.pages import go_to
from workbench.runs.audits import AuditRecord, audit_of, kept_audit
from workbench.runs.run import Run
from workbench.runs.scripts import command_line
from workbench.ui.cards import relation_words
from workbench.ui.formats import number
from workbench.ui.jobs import needed_job
from workbench.ui.links import clone_link
from workbench.ui.privacy_charts import OnAxis, numbers_on_axis
from workbench.ui.words import explained_all
from workbench.workspace import Workspace

ASKS = (
    "An audit puts canaries among the records, trains, and guesses which of them took part. Many right guesses prove that epsilon is at "
    "least so large. A small number proves nothing: the attack may be weak, and it can never say more than its ceiling."
)
CANARIES = 200
HOW = (
    "This run has no canaries. Train another run by the same plan with canaries; it spends the bound once more, and must not be released. "
    "The Train page shows what it costs before it starts; the command starts it."
)
COSTS = (
    "Costs one pass of the model over the canaries, seconds to a minute. All of it was fixed before training: nothing can be chosen now."
)


def measured_section(run: Run, prefix: str) -> None:
    """Claim, bound, lower bound and ceiling on one axis; a job where this run has canaries that nobody has scored yet."""
    st.caption(ASKS, help=explained_all("canary", "lower bound"))
    own = kept_audit(Workspace.default(), run.id) if run.audit is not None else None
    if run.audit is not None and own is None:
        st.caption(COSTS)
        needed_job("audit", run.id, {}, f"{prefix}audit_", "Score the canaries")
    audit = own or audit_of(Workspace.default(), run.plan)
    if audit is None and run.audit is None:
        st.info(prose(HOW))
        if st.button("Plan it with canaries", key=f"{prefix}canaries", icon=":material/arrow_forward:"):
            go_to("train", clone_link(run, "train_") | {"train_audit_canaries": str(CANARIES)})
        st.code(f"{command_line(run.plan.request)} --audit-canaries {CANARIES} --yes", language=None, wrap_lines=True)
    numbers_on_axis(on_axis(run, audit), f"{prefix}axis")
    st.caption(neighbours_words(run, audit))
    if audit is not None:
        (st.error if audit.is_alarm else st.caption)(prose(audit.alarm or audit.words))


def neighbours_words(run: Run, audit: AuditRecord | None) -> str:
    """Which data sets each number compares, and at which delta."""
    values = {"the claim": run.claim, "the bound": run.bound} | ({} if audit is None else {"the audit": audit.value})
    each = [
        f"{name} {relation_words(value)}, at delta {number(value.delta)}"
        for name, value in values.items()
        if value.status != "not_evaluated"
    ]
    return f"Neighbours: {'; '.join(each)}."


def on_axis(run: Run, audit: AuditRecord | None) -> list[OnAxis]:
    """The numbers there are, from the claim down."""
    shown = [OnAxis("paper's claim", run.claim.epsilon)] if run.claim.status != "not_evaluated" else []
    shown.append(OnAxis("upper bound", run.bound.epsilon))
    if audit is not None:
        shown += [OnAxis("measured, at least", audit.epsilon), OnAxis("ceiling of the audit", audit.ceiling)]
        shown += [OnAxis("measured, if Gaussian", audit.f_dp_epsilon), OnAxis("ceiling, if Gaussian", audit.f_dp_ceiling)]
    return shown
