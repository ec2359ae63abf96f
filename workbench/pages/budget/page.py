"""The Budget page from top to bottom."""

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.pages import go_to
from workbench.pages.budget.curves import accountant_section
from workbench.pages.budget.deltas import delta_section
from workbench.pages.budget.dial import dial_section
from workbench.pages.budget.every import every_section
from workbench.pages.budget.meaning import meaning_section, strict_words
from workbench.pages.budget.spending import launch_section, stages_section
from workbench.pages.budget.trying import dry_run_section
from workbench.pages.budget.utility import utility_section
from workbench.serialization import dumps
from workbench.training.state import PerformanceSettings
from workbench.ui.cards import plan_details, plan_numbers
from workbench.ui.choices import plan_choices
from workbench.ui.configuration import same_configuration
from workbench.ui.example import example_notice
from workbench.ui.expected import show_expectation
from workbench.ui.links import link
from workbench.ui.runs import known_runs
from workbench.ui.words import explained, explained_all

PREFIX = "budget_"


def draw() -> None:
    """Choices and the three numbers; what the plan costs and takes; what others reached; what its epsilon means."""
    choices = plan_choices(PREFIX)
    plan = None
    try:
        plan = choices.plan()
        plan_numbers(plan)
    except WorkbenchError as error:
        st.error(prose(error))
    if plan is not None:
        accountant_section(plan, PREFIX)  # above the fold of a small projector
        if strict := strict_words(dumps(plan)):
            st.caption(strict)
        st.header("What this plan sets and takes", anchor=False, help=explained("plan"))
        plan_details(plan, PREFIX)
        same_configuration(plan.request, PREFIX)
        show_expectation(plan, PerformanceSettings(), PREFIX)
        st.subheader("What each stage spends", anchor=False, help=explained("stage"))
        stages_section(plan, PREFIX)
        st.subheader("What the ledger has, and what a launch would take", anchor=False, help=explained("ledger"))
        launch_section(plan)
        st.subheader("What it achieves on drawn records: a dry run", anchor=False)
        dry_run_section(plan, PREFIX)
        if st.button("Carry to the Train page", type="primary", key=f"{PREFIX}carry", icon=":material/arrow_forward:"):
            go_to("train", link(plan.request, "train_"))
    st.header("Utility against epsilon", anchor=False)
    runs = known_runs()
    utility_section(choices.facts, choices.dataset.text, runs, PREFIX, None if plan is None else plan.request)
    example_notice(PREFIX)
    if plan is not None:
        st.header("What this epsilon means", anchor=False, help=explained("epsilon"))
        meaning_section(plan, PREFIX)
        dial, deltas = st.columns(2, gap="large")
        with dial:
            st.subheader("The epsilon dial", anchor=False)
            dial_section(plan.delta, plan.bound.epsilon, PREFIX)
        with deltas:
            st.subheader("Which delta?", anchor=False, help=explained("delta"))
            delta_section(plan)
    # last: the first look evaluates every paper's formula
    st.header("Claim, bound and lower bound of every method", anchor=False, help=explained_all("claim", "bound", "lower bound"))
    every_section(plan, runs, PREFIX)
