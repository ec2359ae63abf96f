"""What a page keeps between reruns: plans and datasets, computed once and bounded in number."""

import streamlit as st

from workbench import runs
from workbench.datasets import Dataset, DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.datasets.whose import state_of
from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.plan import Plan
from workbench.planning import make_plan, with_public
from workbench.privacy.spending.ledger import Ledger
from workbench.request import Request
from workbench.runs.run import Run
from workbench.workspace import Workspace


def cached_plan(request: Request, facts: DatasetFacts) -> Plan:
    """`make_plan`, remembered while public files of one's own stay as they are; its errors are raised anew at every rerun."""
    places = {value for name, value in request.settings.items() if name.rpartition(".")[2] == "dataset" and value}
    return _plan(request.text, facts.model_dump_json(), "".join(sorted(state_of(place) for place in places)))


@st.cache_data(max_entries=200, show_spinner="Calibrating …")
def _plan(request: str, facts: str, public: str) -> Plan:
    del public  # tells one state of the files from another
    return make_plan(Request.parse(request), DatasetFacts.model_validate_json(facts))


def publicly(request: Request, public: str, facts: DatasetFacts) -> Request:
    """`with_public`, remembered while files of one's own stay as they are."""
    return Request.parse(_publicly(request.text, public, facts.model_dump_json(), state_of(public)))


@st.cache_data(max_entries=50, show_spinner="Looking at the public images …")
def _publicly(request: str, public: str, facts: str, state: str) -> str:
    del state
    return with_public(Request.parse(request), public, DatasetFacts.model_validate_json(facts)).text


def known_facts(dataset: DatasetRef) -> DatasetFacts:
    """The public facts about a dataset, remembered while files of one's own stay as they are."""
    return _known_facts(dataset.model_dump_json(), _state(dataset))


@st.cache_data(max_entries=50, show_spinner="Looking at the dataset …")
def _known_facts(dataset: str, state: str) -> DatasetFacts:
    del state
    return DatasetRef.model_validate_json(dataset).facts()


def _state(dataset: DatasetRef) -> str:
    """What changes whenever a file of one's own does that the dataset is read from; empty for a registered one."""
    return "".join(state_of(place) for place in (dataset.path, dataset.held_out) if place)


def loaded_dataset(dataset: DatasetRef, known: DatasetFacts) -> Dataset:
    """A dataset's records, read as `known` says; private ones never leave this process but for the pictures a page shows."""
    return _cached_dataset(dataset.model_dump_json(), known.model_dump_json(), _state(dataset))


@st.cache_resource(max_entries=2, show_spinner="Reading the dataset …")
def _cached_dataset(dataset: str, known: str, state: str) -> Dataset:
    del state
    return DatasetRef.model_validate_json(dataset).load(DatasetFacts.model_validate_json(known))


def loaded_for(run: Run) -> Dataset:
    """The records that a run names now; `same_records` says whether they are still the run's."""
    return loaded_dataset(run.plan.request.place, run.plan.facts)


def launch_warnings(plan: Plan) -> list[str]:
    """Why this plan would exceed the dataset's budget, or belongs to another account too; where neither can be, no record is read."""
    ledger = Ledger(Workspace.default().ledger)
    warnings = []
    if ledger.has_budgets():
        warnings.append(runs.budget_warning(Workspace.default(), plan, loaded_dataset(plan.request.place, plan.facts)))
    if ledger.has_other_records(plan.facts.name):
        warnings.append(_account_warning(plan, len(ledger.entries())))
    return [warning for warning in warnings if warning]


@st.cache_data(
    max_entries=20, show_spinner=False, hash_funcs={Plan: lambda plan: plan.request.place.model_dump_json() + plan.facts.model_dump_json()}
)
def _account_warning(plan: Plan, entries: int) -> str | None:
    """`entries` tells one state of the ledger from another."""
    del entries
    return runs.account_warning(Workspace.default(), plan, loaded_dataset(plan.request.place, plan.facts))


def facts_or_stop(dataset: DatasetRef) -> DatasetFacts:
    """The facts, or the reason why there are none and the end of the page."""
    try:
        return known_facts(dataset)
    except WorkbenchError as error:
        st.error(prose(error))
        st.stop()
