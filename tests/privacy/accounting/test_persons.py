"""What releases cost a person with k rows: exact where the event is a Gaussian, a binomial mixture where rows are sampled, else refused."""

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as library

from workbench.privacy.accounting.bounds import proved_bound, replace_one_bound
from workbench.privacy.accounting.events import (
    ExponentialMechanismDpEvent,
    FixedBatchGaussianDpEvent,
    PersonDpEvent,
    ReplaceOneGaussianDpEvent,
    UnprovedDpEvent,
    distances,
    event_from_json,
    event_to_json,
)
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.groups import group_bound
from workbench.privacy.accounting.persons import of_persons, person_of
from workbench.privacy.accounting.stages import Stage, compose
from workbench.privacy.accounting.zero_out import zero_out
from workbench.privacy.spending.totals import ROWS_TOGETHER, zero_out_total

DELTA = 1e-5
BOTH = ("REPLACE_SPECIAL", "REPLACE_ONE")
COUNTED = ReplaceOneGaussianDpEvent(3.0, zero_out_ratio=math.sqrt(0.5))
SAMPLED = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(5.0))
COUNTS = Stage("counts", COUNTED, "once", relations=BOTH)
DP_SGD = Stage("DP-SGD", SAMPLED, "per_step", 50)


def test_a_gaussian_release_moves_k_times_as_far() -> None:
    stages = of_persons([COUNTS], 4, "patient")
    assert proved_bound(stages, DELTA).epsilon == pytest.approx(gdp_epsilon(4 * math.sqrt(0.5) / 3, DELTA))
    replaced = replace_one_bound(stages, DELTA)
    assert replaced is not None
    assert replaced.epsilon == pytest.approx(gdp_epsilon(4 / 3, DELTA))
    assert "Of a person (patient), by at most 4 rows of each." in proved_bound(stages, DELTA).reason
    (moved,) = (stage.distances for stage in stages)
    assert moved is not None
    assert (moved.replace_one, moved.zero_out) == pytest.approx((4 / 3, 4 * math.sqrt(0.5) / 3))


def test_sampled_rows_are_a_binomial_mixture() -> None:
    q, k = 0.1, 3
    weights = [math.comb(k, drawn) * q**drawn * (1 - q) ** (k - drawn) for drawn in range(k + 1)]
    mixture = library.from_mixture_gaussian_mechanism(5.0, list(range(k + 1)), weights).self_compose(50)
    bound = proved_bound(of_persons([DP_SGD], k, "patient"), DELTA)
    assert bound.epsilon == pytest.approx(mixture.get_epsilon_for_delta(DELTA), rel=2e-3)
    assert bound.epsilon == pytest.approx(group_bound([DP_SGD], DELTA, k).epsilon)
    assert replace_one_bound(of_persons([DP_SGD], k, "patient"), DELTA) is None


def test_a_choice_has_k_times_the_range() -> None:
    choice = Stage("choice", ExponentialMechanismDpEvent(0.2, zero_out_ratio=0.5), "per_step", 5, relations=BOTH)
    wide = Stage("choice", ExponentialMechanismDpEvent(0.6, zero_out_ratio=0.5), "per_step", 5, relations=BOTH)
    assert proved_bound(of_persons([choice], 3, "patient"), DELTA).epsilon == pytest.approx(proved_bound([wide], DELTA).epsilon)


@pytest.mark.parametrize("stage", [COUNTS, DP_SGD, Stage("two", dp_event.ComposedDpEvent([COUNTED, SAMPLED]), "once")])
def test_one_row_a_person_costs_what_a_row_does_and_more_cost_more(stage: Stage) -> None:
    values = [proved_bound(of_persons([stage], rows, "patient"), DELTA).epsilon for rows in (1, 2, 5)]
    assert values[0] == proved_bound([stage], DELTA).epsilon < values[1] < values[2]


def test_what_has_no_form_is_infinite_with_the_reason_and_one_row_needs_none() -> None:
    fixed = Stage("batches", FixedBatchGaussianDpEvent(1000, 10, 1.0), "per_step", 100, ("REPLACE_SPECIAL",))
    bound = proved_bound(of_persons([fixed], 2, "patient"), DELTA)
    assert math.isinf(bound.epsilon)
    assert "no form of it is proved for a person of 2 rows" in bound.reason
    assert proved_bound(of_persons([fixed], 1, "patient"), DELTA).epsilon == proved_bound([fixed], DELTA).epsilon
    refuted = Stage("open", UnprovedDpEvent("It is open.", "refuted"), "once")
    assert proved_bound(of_persons([refuted], 2, "patient"), DELTA).status == "refuted"
    nothing = Stage("exact", dp_event.GaussianDpEvent(0.0), "once")
    assert math.isinf(proved_bound(of_persons([nothing], 2, "patient"), DELTA).epsilon)


def test_the_event_is_kept_as_it_is_and_has_the_null_form_of_its_rows() -> None:
    for column in ("patient", "inf", "-inf"):
        event = PersonDpEvent(COUNTED, 4, column)
        assert event_from_json(event_to_json(event)) == event
    form = zero_out(PersonDpEvent(COUNTED, 4, "patient"))
    assert form == PersonDpEvent(dp_event.GaussianDpEvent(3.0 / math.sqrt(0.5)), 4, "patient")
    assert zero_out(PersonDpEvent(UnprovedDpEvent("?"), 4, "patient")) is None
    assert distances(PersonDpEvent(UnprovedDpEvent("?"), 4, "patient")) is None
    assert of_persons([Stage("free", None, "free")], 3, "patient") == [Stage("free", None, "free")]


def test_together_a_person_is_protected_only_where_every_run_protects_the_same() -> None:
    patients, doctors = of_persons([COUNTS], 3, "patient"), of_persons([COUNTS], 2, "doctor")
    assert [person_of(stages) for stages in (patients, [*patients, COUNTS], [*patients, *doctors], [COUNTS])] == ["patient", "", "", ""]
    same = zero_out_total([("one", patients), ("two", of_persons([COUNTS], 1, "patient"))], DELTA)
    assert same.epsilon == pytest.approx(gdp_epsilon(math.sqrt(0.5) / 3 * math.sqrt(3**2 + 1), DELTA))
    assert "What it protects is a person (patient)." in same.reason
    for others in ([COUNTS], doctors):
        mixed = zero_out_total([("one", patients), ("two", list(others))], DELTA)
        assert ROWS_TOGETHER in mixed.reason
        assert mixed.epsilon > zero_out_total([("one", patients)], DELTA).epsilon
    assert compose(patients) != compose([COUNTS])
