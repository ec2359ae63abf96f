"""The Dossier page from top to bottom."""

import streamlit as st

from workbench.escaping import prose
from workbench.pages.dossier.files import files_section
from workbench.pages.dossier.questions import questions_section
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.profile import PrivacyProfile, privacy_profile
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.audits import audit_of
from workbench.runs.dossier.sections import ONE_NUMBER_HIDES
from workbench.runs.paid import paid_stages
from workbench.runs.run import Run
from workbench.serialization import dumps
from workbench.ui.actions import errors_shown
from workbench.ui.cards import planned_numbers, run_marks
from workbench.ui.example import example_notice
from workbench.ui.formats import number
from workbench.ui.privacy_charts import OnAxis, numbers_on_axis, profile_chart
from workbench.ui.runs import known_runs, run_choice
from workbench.ui.words import explained, explained_all
from workbench.workspace import Workspace

PREFIX = "dossier_"


def draw() -> None:
    """A finished run, what the workbench knows, what only people know, and the files to sign and to send."""
    finished = [run for run in known_runs() if run.state == "done"]
    if not finished:
        st.info("No run has finished yet. Train one on the Train page, then come back.")
        example_notice(PREFIX)
        return
    chosen = run_choice(f"{PREFIX}run", finished)
    run = next(one for one in finished if one.id == chosen)
    run_marks(run)
    with errors_shown():
        what_is_known(run)
        questions_section(run.id, f"{PREFIX}{run.id}_")
        files_section(run, f"{PREFIX}{run.id}_")


def what_is_known(run: Run) -> None:
    """The three numbers, on cards and on one axis; the whole privacy profile."""
    planned_numbers(run.plan, run.claim, run.bound, run.replace_one)
    audit = audit_of(Workspace.default(), run.plan)
    shown = [OnAxis("paper's claim", run.claim.epsilon)] if run.claim.status != "not_evaluated" else []
    shown.append(OnAxis("upper bound", run.bound.epsilon))
    if audit is not None:
        shown += [OnAxis("measured, at least", audit.epsilon), OnAxis("ceiling of the audit", audit.ceiling)]
    axis, curve = st.columns(2)
    with axis:
        st.subheader("On one axis", anchor=False, help=explained_all("claim", "bound", "lower bound"))
        numbers_on_axis(shown, f"{PREFIX}axis")
    stages = [PlannedStage.of(stage) for stage in paid_stages(run, Ledger(Workspace.default().ledger))]
    profile = profile_of(dumps(stages), run.delta)
    with curve:
        st.subheader("The whole privacy profile", anchor=False, help=explained("privacy profile"))
        profile_chart(profile, f"{PREFIX}profile")
    mu = "none" if profile.mu is None else f"{number(profile.mu, 4)} ({profile.mu_is})"
    st.caption(prose(f"mu of Gaussian differential privacy: {mu}. {profile.mu_reason} {ONE_NUMBER_HIDES}"), help=explained("mu"))


@st.cache_data(max_entries=50, show_spinner="Computing the privacy profile …")
def profile_of(stages: str, delta: float) -> PrivacyProfile:
    """The profile of what a run has paid for, as JSON."""
    import json

    return privacy_profile([PlannedStage.model_validate(stage).stage for stage in json.loads(stages)], delta)
