"""What is not DP, by protocol: what a method that offers it owes, and that page and command say so."""

import json

import numpy as np
import pytest
from support.odd_methods import join_registry, odd
from support.quick import ALL_METHODS, quick_dataset, quick_plan
from typer.testing import CliRunner

from workbench.cli.commands import app
from workbench.datasets import DATASETS, DatasetEntry
from workbench.experiment import fit, new_state, sample
from workbench.methods.base import Method
from workbench.methods.protocols import WORDS, AttributeGuided, PacRelease, PerInstanceValues, PrivatelyGuided, offered_features
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.training.state import State

OFFERED = {"odd-guided": {PacRelease, PrivatelyGuided}, "odd-per-instance": {PerInstanceValues, AttributeGuided}}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The odd methods join the registry."""
    join_registry(monkeypatch)


@pytest.fixture(params=ALL_METHODS)
def method(request: pytest.FixtureRequest) -> Method:
    return quick_plan(request.param).build()


def fitted(method: Method) -> tuple[Plan, State]:
    plan = quick_plan(method.name)
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset(method.name), state):
        pass
    return plan, state


def test_per_instance_values_are_one_a_record_and_none_of_a_null_record(method: Method) -> None:
    if not isinstance(method, PerInstanceValues):
        return
    dataset = quick_dataset(method.name)
    few = dataset.train.take(slice(60))
    whole, again, other = (method.per_instance(dataset.facts, few, 20, seed) for seed in (0, 0, 1))
    assert whole.total.shape == whole.standard_error.shape == (60,)
    assert whole.total == pytest.approx(whole.per_step.sum(axis=0))
    assert (whole.total > 0).all()
    assert np.array_equal(whole.total, again.total)
    assert np.array_equal(whole.total, other.total) == (whole.num_draws == 0), "what is exact has no seed"
    nulls = np.arange(0, 60, 3)
    without = method.per_instance(dataset.facts, few.without(nulls), 20).total
    assert (without[nulls] == 0).all()
    assert (np.delete(without, nulls) > 0).all()


def test_a_pac_release_says_that_one_model_bounds_nothing(method: Method) -> None:
    """From samples of one trained model the records were never redrawn, so no bound on a mutual information may be shown."""
    if not isinstance(method, PacRelease):
        return
    plan, state = fitted(method)
    noise = method.pac_noise(state, SampleRequest(30))
    assert noise.dimensions == plan.facts.dimensions
    assert noise.mean_norm > 0
    assert not noise.holds


def test_samples_carry_the_attribute_that_steers_them(method: Method) -> None:
    if not isinstance(method, AttributeGuided):
        return
    plan, state = fitted(method)
    name = method.guiding_attribute
    drawn = sample(plan, state, 23).attributes[name]
    assert drawn.shape == (23,)
    assert set(drawn) == set(range(len(plan.facts.attributes[name]))), "every value is steered to in turn"


def test_a_private_guide_stays_in_the_room_and_each_request_pays(method: Method) -> None:
    if not isinstance(method, PrivatelyGuided):
        return
    facts = quick_plan(method.name).facts
    assert method.private_guides
    assert set(method.private_guides) <= set(method.kept_private)
    assert any(stage.spent != "free" for stage in method.sampling_stages(facts, SampleRequest(5)))


@pytest.mark.parametrize("name", OFFERED)
def test_what_is_offered_is_told_with_the_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, dataset = quick_plan(odd(name).name).build(), quick_dataset(name)
    monkeypatch.setitem(
        DATASETS, dataset.facts.name, DatasetEntry("A dataset.", dataset.facts.name, lambda _: dataset.facts, lambda _: dataset)
    )
    assert {protocol for protocol in WORDS if isinstance(method, protocol)} == OFFERED[name]
    said = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["plan", name, "--dataset", dataset.facts.name]).stdout
    assert [line for line in said.splitlines() if line.startswith("Not protected: ")] == [
        f"Not protected: {words}" for words in offered_features(method)
    ]
    values = CliRunner().invoke(app, ["plan", name, "--dataset", dataset.facts.name, "--json"]).stdout
    assert json.loads(values)["not_dp"] == offered_features(method)


def test_methods_that_offer_nothing_else_say_nothing() -> None:
    assert offered_features(quick_plan("dp-merf").build()) == []
    assert "Not protected" not in CliRunner().invoke(app, ["plan", "dp-merf", "--dataset", "digits"]).stdout
