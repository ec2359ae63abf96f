"""Our events, their JSON form and their zero-out forms."""

import json
import math
from typing import Any

import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.privacy import proved_bound
from workbench.privacy.accounting.events import (
    EVENTS,
    Distances,
    DrawnPartGaussianDpEvent,
    FixedBatchGaussianDpEvent,
    PartOfGaussianDpEvent,
    RealisedBatchSizeDpEvent,
    ReplaceOneGaussianDpEvent,
    UnprovedDpEvent,
    distances,
    event_from_json,
    event_to_json,
)
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.stages import Stage, compose, quiet_stage
from workbench.privacy.accounting.zero_out import zero_out

POSITIVE = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False)
LEAVES = st.one_of(
    st.just(dp_event.NoOpDpEvent()),
    st.builds(dp_event.GaussianDpEvent, POSITIVE),
    st.builds(lambda q, s: dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(s)), st.floats(0, 1), POSITIVE),
    st.builds(FixedBatchGaussianDpEvent, st.integers(1, 10**6), st.integers(0, 10), POSITIVE),
    st.builds(DrawnPartGaussianDpEvent, st.integers(1, 10**6), POSITIVE, st.booleans()),
    st.builds(ReplaceOneGaussianDpEvent, POSITIVE, st.floats(0.1, 1)),
    st.builds(PartOfGaussianDpEvent, POSITIVE, st.floats(0.1, 1), st.lists(POSITIVE, max_size=3), POSITIVE),
    st.builds(RealisedBatchSizeDpEvent, st.floats(0, 1), POSITIVE),
    st.builds(UnprovedDpEvent, st.text(), st.sampled_from(["not_proved", "refuted"])),
    st.builds(dp_event.RandomizedResponseDpEvent, st.floats(0, 1), st.integers(1, 99)),
    st.builds(dp_event.MixtureOfGaussiansDpEvent, POSITIVE, st.lists(POSITIVE, max_size=3), st.lists(POSITIVE, max_size=3)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(dp_event.ComposedDpEvent, st.lists(inner, max_size=3)),
        st.builds(dp_event.SelfComposedDpEvent, inner, st.integers(0, 999)),
    ),
    max_leaves=6,
)


@given(TREES)
@settings(max_examples=60, deadline=None)
def test_json_round_trip_is_exact(event: dp_event.DpEvent) -> None:
    assert event_from_json(json.loads(json.dumps(event_to_json(event), allow_nan=False))) == event


def test_infinite_fields_are_json() -> None:
    event = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1.0), 3.0, math.inf)
    assert event_from_json(json.loads(json.dumps(event_to_json(event), allow_nan=False))) == event


@pytest.mark.parametrize("name", ["NoOpDpEvent", "NonPrivateDpEvent", "UnsupportedDpEvent"])
def test_events_without_fields(name: str) -> None:
    assert event_to_json(EVENTS[name]()) == {"type": name}


@pytest.mark.parametrize("value", [{"type": "Unknown"}, {}, [], {"type": "GaussianDpEvent", "sigma": 1.0}])
def test_bad_json_is_refused_by_name(value: dict[str, Any]) -> None:
    with pytest.raises(WorkbenchError, match=r"event type|fields of GaussianDpEvent"):
        event_from_json(value)


def test_zero_out_forms() -> None:
    poisson = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0))
    assert zero_out(poisson) == poisson
    assert zero_out(ReplaceOneGaussianDpEvent(3.0, 0.5)) == dp_event.GaussianDpEvent(6.0)
    assert zero_out(ReplaceOneGaussianDpEvent(3.0, zero_out_ratio=1.0)) == dp_event.GaussianDpEvent(3.0)
    fixed = FixedBatchGaussianDpEvent(100, 10, 2.0)
    assert zero_out(dp_event.SelfComposedDpEvent(fixed, 5)) == dp_event.SelfComposedDpEvent(fixed, 5)
    sampled = dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(4.0))
    assert zero_out(sampled) == fixed


@pytest.mark.parametrize("event", [UnprovedDpEvent("no"), dp_event.UnsupportedDpEvent(), dp_event.ZCDpEvent(1.0)])
def test_events_without_a_zero_out_form(event: dp_event.DpEvent) -> None:
    assert zero_out(event) is None
    assert zero_out(dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), event])) is None


def test_a_stage_that_is_free_or_takes_no_step_costs_nothing() -> None:
    paid, free = Stage("a", dp_event.GaussianDpEvent(1.0), "per_step", 3), Stage("a", None, "free", 3)
    assert free.total() == free.total(1) == paid.total(0) == dp_event.NoOpDpEvent()
    assert paid.total(1) == paid.event
    assert paid.total() == dp_event.SelfComposedDpEvent(paid.event, 3)
    assert compose([free]) == dp_event.NoOpDpEvent()
    assert compose([free, paid]) == paid.total()
    assert PlannedStage.of(free).event == {"type": "NoOpDpEvent"}
    assert PlannedStage.of(free).stage == free


def test_a_quiet_stage_is_spent_and_costs_nothing_under_any_relation() -> None:
    quiet, paid = quiet_stage("critics", 5, "reason"), Stage("a", ReplaceOneGaussianDpEvent(1.0, 1.0), "per_step", 3, ("REPLACE_ONE",))
    assert (quiet.spent, quiet.steps, quiet.reason) == ("per_step", 5, "reason")
    assert [bound.epsilon for bound in (proved_bound([quiet, paid], 1e-5), proved_bound([paid], 1e-5))] == [
        proved_bound([paid], 1e-5).epsilon
    ] * 2
    assert proved_bound([quiet], 1e-5).epsilon == 0.0
    assert PlannedStage.of(quiet).stage == quiet


def test_a_stage_has_an_event_unless_it_is_free() -> None:
    with pytest.raises(WorkbenchError, match="Expected no event of a, which is spent 'free'"):
        Stage("a", dp_event.NoOpDpEvent(), "free")
    with pytest.raises(WorkbenchError, match="Expected an event of a, which is spent 'once', got None"):
        Stage("a", None, "once")


def test_the_zero_out_ratio_has_no_default() -> None:
    """Half the distance, as it was by default, would count a histogram (one over the root of 2) too little."""
    with pytest.raises(TypeError, match="zero_out_ratio"):
        ReplaceOneGaussianDpEvent(1.0)  # pyright: ignore[reportCallIssue]
    histogram = ReplaceOneGaussianDpEvent(2.0, math.sqrt(0.5))
    assert distances(histogram) == Distances(0.5, pytest.approx(0.5 * math.sqrt(0.5)))
    assert distances(dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(4.0))) == Distances(0.5, 0.25)
    assert distances(dp_event.NonPrivateDpEvent()) is None
