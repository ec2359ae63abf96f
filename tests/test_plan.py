"""Plans as values, and their stages."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from support.quick import quick_plan

from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.dp_merf import DPMERF
from workbench.plan import Plan
from workbench.planning import make_plan, strict_bound
from workbench.privacy import proved_bound
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu
from workbench.privacy.accounting.stages import Stage, difference
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


def test_a_delta_at_which_publishing_one_record_would_do_is_warned_of() -> None:
    for share, expected in ((0.999, 0), (1.0, 1), (2.0, 1)):
        plan = quick_plan("dp-merf", delta=share / 1500)
        assert sum("publishing one record at random would satisfy it" in warning for warning in plan.warnings) == expected


@pytest.mark.parametrize("num_records", [1, 2, 3, 7, 8, 1500, 60_000, 10**7])
def test_the_usual_delta_leaves_little_room_to_publish_a_record(num_records: int) -> None:
    """n delta, the records that a mechanism may publish on average, is 1/ln n, and never above one half."""
    facts = load("digits").facts.model_copy(update={"num_records": num_records})
    delta = make_plan("dp-merf", facts, epsilon=1).delta
    assert 0 < num_records * delta <= 0.5
    if num_records > 7:
        assert num_records * delta == pytest.approx(1 / math.log(num_records))


def test_the_bound_at_a_smaller_delta_is_that_of_the_same_releases() -> None:
    plan = quick_plan("dp-merf")
    mu = gdp_mu(plan.bound.epsilon, plan.delta)
    strict = strict_bound(plan)
    assert strict is not None
    assert (strict.delta, strict.epsilon) == (1500**-2, pytest.approx(gdp_epsilon(mu, 1500**-2), rel=1e-6))
    assert strict_bound(quick_plan("dp-merf", delta=1500**-2)) is None
    assert strict_bound(quick_plan("nonprivate")) is None


def changed(plan: Plan, **values: Any) -> Plan:
    """The plan with some of its JSON values others, as a hand or another version may leave it."""
    return Plan.model_validate(json.loads(dumps(plan)) | values)


@pytest.mark.parametrize("field", ["name", "steps", "spent", "event", "relations", "sampler_distance"])
def test_releases_that_the_configuration_does_not_make_are_refused(field: str) -> None:
    """An event and what carries it out are one: whichever of the two was changed, nothing is built from the plan."""
    plan = quick_plan("dp-promise")
    releases = json.loads(dumps(plan))["releases"]
    other = {
        "name": "x",
        "steps": 2,
        "spent": "once",
        "event": releases[1]["event"],
        "relations": ["REPLACE_ONE"],
        "sampler_distance": 1e-9,
    }
    stale = changed(plan, releases=[*releases[:2], releases[2] | {field: other[field]}])
    with pytest.raises(WorkbenchError, match=r"plan whose releases are those of its configuration, got .*plan again"):
        stale.build()
    with pytest.raises(WorkbenchError, match="plan again"):
        stale.check()


def test_a_configuration_that_means_other_stages_by_now_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = quick_plan("dp-merf")
    again = changed(plan)
    assert type(again.build()) is DPMERF
    monkeypatch.setattr(DPMERF, "stages", lambda method, facts: [*real(method, facts), Stage("more", None, "free")])
    with pytest.raises(WorkbenchError, match="got release, generator against release, generator, more"):
        again.build()
    config = plan.config | {"noise_multiplier": plan.config["noise_multiplier"] / 2}
    monkeypatch.undo()
    with pytest.raises(WorkbenchError, match="event of release"):
        changed(plan, config=config).build()


def test_words_for_people_and_the_order_of_relations_make_no_other_release() -> None:
    plan = quick_plan("dp-merf")
    releases = json.loads(dumps(plan))["releases"]
    releases[0] |= {"reason": "Other words.", "sampling": "in other words"}
    changed(plan, releases=releases).check()
    turned = [replace(stage, relations=stage.relations[::-1]) for stage in plan.stages]
    assert difference(plan.stages, turned) == ""


def test_a_field_that_came_later_has_its_default_in_a_plan_of_before() -> None:
    plan = quick_plan("dp-promise")
    before = plan.model_copy(update={"config": {name: value for name, value in plan.config.items() if name != "conditional"}})
    assert before.does_the_same_as(plan)
    assert plan.does_the_same_as(before)
    other = plan.model_copy(update={"config": plan.config | {"conditional": False}})
    assert not other.does_the_same_as(before)
    unknown = plan.model_copy(update={"config": plan.config | {"no_such_field": 1}})
    assert unknown.does_the_same_as(unknown)
    assert not unknown.does_the_same_as(plan)
    assert not plan.does_the_same_as(unknown)


@pytest.mark.parametrize("name", ["bound", "claim", "replace_one"])
def test_a_number_below_what_the_releases_come_to_is_refused(name: str) -> None:
    plan = quick_plan("dp-merf")
    number = getattr(plan, name)
    plan.check()
    changed(plan, **{name: jsonable(number) | {"epsilon": number.epsilon * 1.01}}).check()
    for changes in ({"epsilon": number.epsilon * 0.999}, {"status": "approximation"}, {"delta": number.delta / 2}):
        with pytest.raises(WorkbenchError, match=r"what its releases come to \(epsilon .*plan again"):
            changed(plan, **{name: jsonable(number) | changes}).check()
    stated = {"neighboring_relation": "ADD_OR_REMOVE_ONE"}
    with pytest.raises(WorkbenchError, match=r"got epsilon .*, ADD_OR_REMOVE_ONE"):
        changed(plan, **{name: jsonable(number) | stated}).check()


def test_a_finite_bound_of_what_has_none_is_refused() -> None:
    plan, proved = quick_plan("nonprivate"), quick_plan("dp-merf")
    with pytest.raises(WorkbenchError, match=r"\(epsilon inf, .*got epsilon 9"):
        changed(plan, bound=jsonable(proved.bound)).check()


real = DPMERF.stages
