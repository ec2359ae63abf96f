"""Budget: what a target costs and what it buys, before any record is touched."""

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.training.state import PerformanceSettings
from workbench.ui.cards import plan_details, plan_numbers
from workbench.ui.choices import plan_choices
from workbench.ui.curves import accountant_section
from workbench.ui.expected import show_expectation
from workbench.ui.meaning import meaning_section
from workbench.ui.runs import example_notice, known_runs
from workbench.ui.session import go_to
from workbench.ui.utility import utility_section

PREFIX = "budget_"

choices = plan_choices(PREFIX)

plan = None
try:
    plan = choices.plan()
    plan_numbers(plan)
except WorkbenchError as error:
    st.error(markdown(error))

if plan is not None:
    accountant_section(plan, PREFIX)
    st.header("What this plan sets and takes", anchor=False)
    plan_details(plan)
    show_expectation(plan, PerformanceSettings())
    if st.button("Carry to the Train page", type="primary", key=f"{PREFIX}carry", icon=":material/arrow_forward:"):
        go_to("train", choices.parameters("train_"))

st.header("Utility against epsilon", anchor=False)
utility_section(choices.facts, choices.dataset, known_runs(), PREFIX)
example_notice()

if plan is not None:
    st.header("What this epsilon means", anchor=False)
    meaning_section(plan, PREFIX)
