"""Plans as values: their stages, and plans that version 0.1 wrote."""

import json
import sqlite3
from pathlib import Path

import pytest
from support.homes import here
from support.quick import quick_plan

from workbench.jobs.store import RunStore
from workbench.jobs.trained import dataset_of, load_state
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.privacy import proved_bound
from workbench.serialization import dumps, jsonable


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_holds_its_stages(method: str) -> None:
    plan = quick_plan(method)
    assert plan.stages == plan.build().stages(plan.facts)
    for again in (Plan.model_validate_json(plan.model_dump_json()), Plan.model_validate(json.loads(dumps(plan)))):
        assert again == plan
        assert again.stages == plan.stages
        assert proved_bound(again.stages, plan.delta) == plan.bound
    assert plan.steps == sum(stage.steps for stage in plan.stages)


def test_plans_of_version_01_open(former_home: Path) -> None:
    runs = {run.method: run for run in RunStore(here()).list()}
    assert runs.keys() == METHODS.keys()
    with sqlite3.connect(former_home / "runs.sqlite") as connection:
        written = {method: json.loads(plan) for method, plan in connection.execute("SELECT method, plan FROM runs")}
    for method, run in runs.items():
        before, plan = written[method], run.plan
        assert jsonable(plan.bound) == before["bound"]
        assert (plan.delta, plan.target_epsilon, plan.num_records) == (before["delta"], before["target_epsilon"], before["num_records"])
        assert plan.stages == plan.build().stages(plan.facts)
        assert proved_bound(plan.stages, plan.delta) == plan.bound
        assert plan.request.text.startswith('{"dataset": {"name": "digits"}')
        assert plan.request.edited() == plan.request
        assert dataset_of(here(), run).facts == plan.facts
        load_state(here(), run)


def test_a_changed_run_of_version_01_is_written_as_now(former_home: Path) -> None:
    store = RunStore(here())
    before = store.list()[-1]
    after = store.change(before.id, {"done"}, "kept", plan=before.plan)
    assert after.plan == before.plan
    with sqlite3.connect(former_home / "runs.sqlite") as connection:
        assert "request" in json.loads(connection.execute("SELECT plan FROM runs WHERE id = ?", (before.id,)).fetchone()[0])
