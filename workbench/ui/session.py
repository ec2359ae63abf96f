"""What a page keeps between reruns: plans and datasets, computed once and bounded in number."""

import json
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

import workbench.pages
from workbench import datasets, experiment
from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.experiment import Plan
from workbench.methods.base import Target
from workbench.privacy.ledger import Ledger

PAGES = Path(workbench.pages.__file__).parent


def go_to(page: str, parameters: dict[str, str]) -> NoReturn:
    """Open another page with exactly these choices in its address."""
    st.switch_page(PAGES / f"{page}.py", query_params=parameters)


def planned(
    method: str, facts: DatasetFacts, epsilon: float | None, delta: float | None, preset: str, overrides: dict[str, Any], target: Target
) -> Plan:
    """`experiment.make_plan`, remembered; its errors are raised anew at every rerun."""
    return _plan(method, facts.model_dump_json(), epsilon, delta, preset, json.dumps(overrides, sort_keys=True), target)


@st.cache_data(max_entries=200, show_spinner="Calibrating …")
def _plan(method: str, facts: str, epsilon: float | None, delta: float | None, preset: str, overrides: str, target: Target) -> Plan:
    known = DatasetFacts.model_validate_json(facts)
    return experiment.make_plan(method, known, epsilon=epsilon, delta=delta, preset=preset, overrides=json.loads(overrides), target=target)


@st.cache_data(max_entries=50, show_spinner="Looking at the dataset …")
def known_facts(name_or_path: str) -> DatasetFacts:
    """The public facts about a dataset."""
    return datasets.facts(name_or_path)


@st.cache_resource(max_entries=2, show_spinner="Reading the dataset …")
def loaded(name_or_path: str) -> Dataset:
    """A dataset's records; private ones never leave this process but for the pictures a page shows."""
    return experiment.load(name_or_path)


@st.cache_data(max_entries=20, show_spinner=False)
def fingerprint(name_or_path: str) -> str:
    """The dataset's fingerprint, which names it in the ledger."""
    return loaded(name_or_path).fingerprint


def budget_warning(plan: Plan, name_or_path: str) -> str | None:
    """Why this plan would exceed the dataset's budget; None where it would not. Where no budget is set no record is read."""
    if not Ledger().has_budgets():
        return None
    return Ledger().warning_before(fingerprint(name_or_path), plan.build().stages(plan.facts), plan.delta)


def facts_or_stop(name_or_path: str) -> DatasetFacts:
    """The facts, or the reason why there are none and the end of the page."""
    try:
        return known_facts(name_or_path)
    except WorkbenchError as error:
        st.error(markdown(error))
        st.stop()
