"""What a page keeps between reruns: plans and datasets, computed once and bounded in number."""

import json
from typing import Any

import streamlit as st

from workbench import datasets, experiment
from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs import local
from workbench.jobs.run import Run
from workbench.methods.base import Target
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger


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
def known_facts(name_or_path: str, name: str | None = None, resize: str | None = None, classes: str | None = None) -> DatasetFacts:
    """The public facts about a dataset, read as the texts of a page's fields say."""
    return datasets.facts(name_or_path, **datasets.reading(name, resize, classes))


def loaded(name_or_path: str, known: DatasetFacts) -> Dataset:
    """A dataset's records, read as `known` says; private ones never leave this process but for the pictures a page shows."""
    return _loaded(name_or_path, known.model_dump_json())


@st.cache_resource(max_entries=2, show_spinner="Reading the dataset …")
def _loaded(name_or_path: str, known: str) -> Dataset:
    return experiment.load(name_or_path, DatasetFacts.model_validate_json(known))


def loaded_for(run: Run) -> Dataset:
    """The records that a run names now; `same_records` says whether they are still the run's."""
    return loaded(run.dataset, run.plan.facts)


def launch_warnings(plan: Plan, name_or_path: str) -> list[str]:
    """Why this plan would exceed the dataset's budget, or belongs to another account too; where neither can be, no record is read."""
    ledger = Ledger()
    found = []
    if ledger.has_budgets():
        found.append(local.budget_warning(plan, loaded(name_or_path, plan.facts)))
    if ledger.has_other_records(plan.facts.name):
        found.append(_account_warning(plan, name_or_path, len(ledger.entries())))
    return [warning for warning in found if warning]


@st.cache_data(max_entries=20, show_spinner=False, hash_funcs={Plan: lambda plan: plan.facts.model_dump_json()})
def _account_warning(plan: Plan, name_or_path: str, entries: int) -> str | None:
    """`entries` tells one state of the ledger from another."""
    del entries
    return local.account_warning(plan, loaded(name_or_path, plan.facts))


def facts_or_stop(name_or_path: str, name: str | None = None, resize: str | None = None, classes: str | None = None) -> DatasetFacts:
    """The facts, or the reason why there are none and the end of the page."""
    try:
        return known_facts(name_or_path, name, resize, classes)
    except WorkbenchError as error:
        st.error(markdown(error))
        st.stop()
