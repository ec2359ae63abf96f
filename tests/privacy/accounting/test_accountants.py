"""Accountants: failure modes of the libraries, neighboring relations, and properties that any bound must have."""

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as library
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom
from support.two_phases import TwoPhases

from workbench.datasets import DatasetFacts
from workbench.errors import RefusedError, WorkbenchError
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS, pld, rdp
from workbench.privacy.accounting.accountants.mechanisms import (
    ExactGaussian,
    FixedBatchGaussian,
    SampledGaussian,
    VisibleGaussian,
)
from workbench.privacy.accounting.accountants.pld import distribution
from workbench.privacy.accounting.accountants.prv import prv_bracket
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import (
    accountant_values,
    epsilon_poisson_gaussian,
    event_bound,
    proved_bound,
    replace_one_bound,
    shared_relation,
)
from workbench.privacy.accounting.events import (
    FixedBatchGaussianDpEvent,
    PartOfGaussianDpEvent,
    RealisedBatchSizeDpEvent,
    ReplaceOneGaussianDpEvent,
    UnprovedDpEvent,
)
from workbench.privacy.accounting.gaussian import gdp_delta, gdp_epsilon, sampled_delta
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.varying import randomized_response
from workbench.records import ImageKind

# sigma: (Opacus RDP, Opacus GDP, dp-accounting PLD 1e-4, Opacus PRV upper) at q = .01, 10 000 steps, delta 1e-5
GOLDEN = {
    0.6: (25.1436, 23.4331, 23.0176, 23.0287),
    0.8: (10.9354, 9.6409, 10.0537, 10.0641),
    1.0: (6.712738, 6.007077, 6.187745, 6.198044),
    1.5: (3.4594, 3.1376, 3.1856, 3.1958),
    2.0: (2.3529, 2.1405, 2.1628, 2.1728),
    4.0: (1.0355, 0.9424, 0.9470, 0.9569),
    10.0: (0.3771, 0.3416, 0.3422, 0.3522),
}


def poisson_stage(sigma: float, q: float, steps: int, name: str = "DP-SGD") -> Stage:
    return Stage(name, dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), "per_step", steps)


@pytest.mark.parametrize("sigma", GOLDEN)
def test_golden_table(sigma: float) -> None:
    rdp, gdp, pld, _ = GOLDEN[sigma]
    values = epsilon_poisson_gaussian(sigma, 0.01, 10_000, 1e-5)
    assert values["pld"] == pytest.approx(pld, abs=1.5e-4)
    assert values["rdp"] == pytest.approx(rdp, rel=2e-3)
    assert values["gdp"] == pytest.approx(gdp, abs=1e-4)
    assert values["bound"] == min(values["pld"], values["rdp"])


@pytest.mark.parametrize("sigma", [1.0, 2.0, 10.0])
def test_golden_brackets(sigma: float) -> None:
    bracket = prv_bracket(sigma, 0.01, 10_000, 1e-5)
    assert bracket.upper == pytest.approx(GOLDEN[sigma][3], abs=1e-3)
    assert bracket.lower <= epsilon_poisson_gaussian(sigma, 0.01, 10_000, 1e-5)["bound"] <= bracket.upper


def test_zero_noise_zero_steps_and_zero_rate() -> None:
    assert epsilon_poisson_gaussian(0.0, 0.01, 10, 1e-5) == dict.fromkeys([*ACCOUNTANTS, "bound"], math.inf)
    assert "noise multiplier is 0" in proved_bound([poisson_stage(0.0, 0.01, 10)], 1e-5).reason
    assert epsilon_poisson_gaussian(1.0, 0.01, 0, 1e-5)["bound"] == 0.0
    assert epsilon_poisson_gaussian(1.0, 0.0, 10, 1e-5)["bound"] == 0.0


def test_tiny_delta_is_answered_by_rdp() -> None:
    values = epsilon_poisson_gaussian(1.0, 0.01, 10_000, 1e-14)
    assert "1e-10" in values["pld"]["refused"]
    assert values["bound"] == values["rdp"] == pytest.approx(11.742, abs=2e-3)
    assert epsilon_poisson_gaussian(1.0, 0.01, 10_000, 1e-20)["bound"] == pytest.approx(14.306, abs=2e-3)
    assert 9.315 < epsilon_poisson_gaussian(1.0, 0.01, 10_000, 1e-10)["pld"] < 9.325  # with the allowance for rounding


@pytest.mark.parametrize("steps", [100, 10_000, 100_000])
def test_allowance_for_rounding_covers_what_the_transforms_lose(steps: int) -> None:
    mu = 1 / math.sqrt(steps)  # composed by the library's transforms: `distribution` would need none for Gaussians
    composed = distribution({ExactGaussian(mu): 1}, min(1e-4, mu / 30)).self_compose(steps)
    epsilons = np.linspace(6.0, 9.5, 15)
    lost = [gdp_delta(1.0, float(epsilon)) - composed.get_delta_for_epsilon(float(epsilon)) for epsilon in epsilons]
    assert max(lost) < pld.rounding(steps)


def test_more_steps_than_the_transforms_hold_are_left_to_rdp() -> None:
    many = epsilon_poisson_gaussian(1.0, 1e-9, 10**9, 1e-5)
    assert "1000000 steps" in many["pld"]["refused"]
    assert 0.0 < many["bound"] == many["rdp"] < 0.2  # the total variation is 1.6e-5, above delta: not 0
    assert "limited to 250" in epsilon_poisson_gaussian(1.0, 0.01, 10**6, 1e-10)["pld"]["refused"]
    with pytest.raises(WorkbenchError, match="at most 1e\\+15 steps"):
        epsilon_poisson_gaussian(1.0, 0.01, 10**22, 1e-5)


@pytest.mark.parametrize("sample_rate", [0.01, 1.0])
def test_extreme_noise_is_answered(sample_rate: float) -> None:
    assert epsilon_poisson_gaussian(1e-300, sample_rate, 100, 1e-5)["bound"] == math.inf
    assert epsilon_poisson_gaussian(1e300, sample_rate, 100, 1e-5)["bound"] == 0.0
    tiny = epsilon_poisson_gaussian(1e-8, sample_rate, 100, 1e-5)
    assert tiny["bound"] == pytest.approx(5e17, rel=0.01)  # steps mu^2 / 2


def test_orders_reach_far_for_small_and_near_one_for_large_epsilon() -> None:
    assert epsilon_poisson_gaussian(100.0, 0.01, 1000, 1e-5)["rdp"] == pytest.approx(0.00863, rel=1e-2)
    assert epsilon_poisson_gaussian(1000.0, 0.01, 10, 1e-5)["bound"] < 1e-4
    assert epsilon_poisson_gaussian(0.3, 0.05, 1000, 1e-5)["rdp"] == pytest.approx(281.7, rel=0.01)
    assert epsilon_poisson_gaussian(2.0, 0.5, 1000, 1e-5)["rdp"] == pytest.approx(70.75, rel=2e-3)


def test_sampling_rate_one_is_exact() -> None:
    values = epsilon_poisson_gaussian(2.0, 1.0, 100, 1e-5)
    assert values["gdp"] == values["bound"] == pytest.approx(33.1037, abs=1e-4)
    assert proved_bound([poisson_stage(2.0, 1.0, 100)], 1e-5).accountant == "GDP, exact"


@pytest.mark.parametrize("sigma", [0.005, 0.05])
def test_very_large_epsilon_is_finite(sigma: float) -> None:
    values = epsilon_poisson_gaussian(sigma, 0.01, 100, 1e-5)
    assert 100 < values["pld"] <= 1.05 * values["rdp"] < math.inf


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"), [(-1, 0.1, 1, 0.1), (1, 1.5, 1, 0.1), (1, 0.1, -1, 0.1), (1, 0.1, 1, 0), (1, 0.1, 1, 1)]
)
def test_wrong_input_is_refused(sigma: float, q: float, steps: int, delta: float) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        epsilon_poisson_gaussian(sigma, q, steps, delta)


def test_changing_noise_counts_every_step() -> None:
    """A strong first part is not forgotten when a weak one follows, as it is where only the last entry of a history is read."""
    strong, weak = poisson_stage(1.0, 0.01, 10_000, "strong"), poisson_stage(5.0, 0.01, 1, "weak")
    assert proved_bound([weak], 1e-5).epsilon < 0.01
    assert 6.187 < proved_bound([strong, weak], 1e-5).epsilon == pytest.approx(6.187745, abs=1e-3)
    values = accountant_values([strong, weak], 1e-5)
    assert values["gdp"] == pytest.approx(6.007077, abs=1e-3)


@given(st.floats(0.5, 8), st.floats(1e-4, 0.2), st.integers(1, 3000), st.sampled_from([1e-3, 1e-5, 1e-8]))
@settings(max_examples=12, deadline=None)
def test_monotone(sigma: float, q: float, steps: int, delta: float) -> None:
    base = epsilon_poisson_gaussian(sigma, q, steps, delta)
    more = [
        epsilon_poisson_gaussian(sigma * 0.8, q, steps, delta),
        epsilon_poisson_gaussian(sigma, min(1.0, 1.3 * q), steps, delta),
        epsilon_poisson_gaussian(sigma, q, 2 * steps, delta),
        epsilon_poisson_gaussian(sigma, q, steps, delta / 10),
    ]
    for worse in more:
        for name in ("gdp", "rdp", "pld", "bound"):
            if isinstance(worse[name], float) and isinstance(base[name], float):
                assert worse[name] >= base[name] * (1 - 1e-6) - 1e-9, name
    assert base["bound"] <= min(base["rdp"], base["pld"] if isinstance(base["pld"], float) else math.inf)


@given(st.floats(0.6, 6), st.floats(1e-3, 0.3), st.integers(1, 500), st.sampled_from([1e-3, 1e-6]))
@settings(max_examples=8, deadline=None)
def test_a_lower_bound_never_exceeds_the_bound(sigma: float, q: float, steps: int, delta: float) -> None:
    """Optimistic distribution <= bound <= the same steps without sampling."""
    optimistic = library.from_gaussian_mechanism(sigma, sampling_prob=q, value_discretization_interval=1e-4, pessimistic_estimate=False)
    lower = optimistic.self_compose(steps).get_epsilon_for_delta(delta)
    bound = epsilon_poisson_gaussian(sigma, q, steps, delta)["bound"]
    assert lower <= bound + 1e-9
    assert bound <= gdp_epsilon(math.sqrt(steps) / sigma, delta) + 2e-3


@given(st.floats(0.6, 5), st.floats(1e-3, 0.3), st.integers(1, 500))
@settings(max_examples=8, deadline=None)
def test_own_distribution_equals_the_library(sigma: float, q: float, steps: int) -> None:
    ours = distribution({SampledGaussian(q, sigma): steps}, 1e-3)
    theirs = library.from_gaussian_mechanism(sigma, sampling_prob=q, value_discretization_interval=1e-3).self_compose(steps)
    for delta in (1e-3, 1e-6):
        assert ours.get_epsilon_for_delta(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), abs=2e-6)


@given(st.floats(0.7, 8), st.integers(700, 990))
@settings(max_examples=6, deadline=None)
def test_order_of_composition_does_not_matter(sigma: float, boundary: int) -> None:
    stages = TwoPhases(boundary=boundary, noise_multiplier=sigma).renoised_stages()
    forward, backward = proved_bound(stages, 1e-5), proved_bound(stages[::-1], 1e-5)
    assert forward.epsilon == pytest.approx(backward.epsilon, rel=1e-6)
    assert forward.neighboring_relation == backward.neighboring_relation == "REPLACE_SPECIAL"
    assert forward.epsilon >= proved_bound(stages[1:], 1e-5).epsilon - 1e-6


def test_relations_of_compositions() -> None:
    phases = TwoPhases().renoised_stages()
    assert shared_relation(phases) == "REPLACE_SPECIAL"
    assert shared_relation(phases[:1]) == "REPLACE_SPECIAL"
    assert shared_relation(phases[1:]) == "REPLACE_SPECIAL"
    assert shared_relation([]) == "REPLACE_SPECIAL"
    clash = [
        Stage("a", dp_event.GaussianDpEvent(1.0), "once", 1, ("ADD_OR_REMOVE_ONE",)),
        Stage("b", dp_event.GaussianDpEvent(1.0), "once", 1, ("REPLACE_ONE",)),
    ]
    with pytest.raises(RefusedError, match="share no neighboring relation"):
        shared_relation(clash)
    bound = proved_bound(clash, 1e-5)
    assert (bound.epsilon, bound.status) == (math.inf, "not_proved")
    assert all("refused" in value for value in accountant_values(clash, 1e-5).values() if isinstance(value, dict))


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        (FixedBatchGaussianDpEvent(100, 10, 1.0), "ADD_OR_REMOVE_ONE"),
        (RealisedBatchSizeDpEvent(0.1, 1.0), "ADD_OR_REMOVE_ONE"),
        (RealisedBatchSizeDpEvent(0.1, 1.0), "REPLACE_ONE"),
        (ReplaceOneGaussianDpEvent(1.0, 0.5), "ADD_OR_REMOVE_ONE"),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(1.0)), "REPLACE_ONE"),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.ZCDpEvent(1.0)), "REPLACE_SPECIAL"),
        (dp_event.RandomizedResponseDpEvent(0.5, 4), "ADD_OR_REMOVE_ONE"),
        (dp_event.SampledWithReplacementDpEvent(10, 2, dp_event.GaussianDpEvent(1.0)), "REPLACE_ONE"),
        (dp_event.UnsupportedDpEvent(), "REPLACE_SPECIAL"),
    ],
)
def test_unproved_combinations_are_refused_by_name(event: dp_event.DpEvent, relation: Any) -> None:
    bound = event_bound(dp_event.SelfComposedDpEvent(event, 3), 1e-5, relation)
    assert (bound.epsilon, bound.status) == (math.inf, "not_proved")
    assert type(event).__name__ in bound.reason


def test_non_private_and_unproved_releases_are_infinite_with_their_reason() -> None:
    assert proved_bound([Stage("a", dp_event.NonPrivateDpEvent(), "once")], 1e-5).epsilon == math.inf
    stages = TwoPhases().paper_stages()
    bound = proved_bound(stages, 1e-5)
    assert (bound.epsilon, bound.status) == (math.inf, "refuted")
    assert "regression target" in bound.reason
    mixed = [Stage("a", UnprovedDpEvent("unknown"), "once"), Stage("b", UnprovedDpEvent("broken", "refuted"), "once")]
    assert (proved_bound(mixed, 1e-5).status, proved_bound(mixed, 1e-5).reason) == ("refuted", "broken")


def test_free_stages_cost_nothing() -> None:
    bound = proved_bound([Stage("public", None, "free", 10)], 1e-5)
    assert (bound.epsilon, bound.status) == (0.0, "proved")


def test_embedding_release_is_exact_under_both_relations() -> None:
    def release(relation: Any) -> list[Stage]:
        return [Stage("a", ReplaceOneGaussianDpEvent(2.0, 0.5), "once", 1, (relation,))]

    assert proved_bound(release("REPLACE_ONE"), 1e-5).epsilon == pytest.approx(gdp_epsilon(0.5, 1e-5))
    assert proved_bound(release("REPLACE_SPECIAL"), 1e-5).epsilon == pytest.approx(gdp_epsilon(0.25, 1e-5))


def test_library_events_read_as_mechanisms() -> None:
    without = dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(4.0))
    assert mechanisms(without, "REPLACE_ONE") == {FixedBatchGaussian(100, 10, 0.5): 1}
    whole = FixedBatchGaussianDpEvent(100, 100, 2.0)
    assert mechanisms(dp_event.SelfComposedDpEvent(whole, 4), "REPLACE_ONE") == {ExactGaussian(1.0): 1}
    nested = dp_event.PoissonSampledDpEvent(0.1, dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 4))
    assert mechanisms(nested, "REPLACE_SPECIAL") == {SampledGaussian(0.1, 1.0): 1}
    both = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(3.0), dp_event.GaussianDpEvent(4.0)])
    (sampled,) = mechanisms(dp_event.PoissonSampledDpEvent(0.1, both), "REPLACE_SPECIAL")
    assert isinstance(sampled, SampledGaussian)
    assert sampled.noise_multiplier == pytest.approx(2.4), "1 / sqrt(1/9 + 1/16)"
    bare = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(0.0), dp_event.GaussianDpEvent(1.0)])
    assert event_bound(dp_event.PoissonSampledDpEvent(0.1, bare), 1e-5, "REPLACE_SPECIAL").epsilon == math.inf


def test_randomised_response_is_bounded_by_its_pure_epsilon() -> None:
    response = Stage("a", dp_event.RandomizedResponseDpEvent(0.5, 4), "once", 1, ("REPLACE_ONE",))
    pure = math.log((0.5 + 0.125) / 0.125)
    assert proved_bound([response], 1e-6).epsilon == pytest.approx(pure, rel=1e-3)
    exact = Stage("a", dp_event.RandomizedResponseDpEvent(0.0, 4), "once", 1, ("REPLACE_ONE",))
    assert proved_bound([exact], 1e-6).epsilon == math.inf


@pytest.mark.parametrize(("noise", "buckets"), [(0.5, 1), (0.0, 1), (1.0, 4)])
def test_a_response_that_says_nothing_costs_nothing(noise: float, buckets: int) -> None:
    response = Stage("a", dp_event.RandomizedResponseDpEvent(noise, buckets), "once", 1, ("REPLACE_ONE",))
    assert proved_bound([response], 1e-6).epsilon == 0.0
    with pytest.raises(WorkbenchError, match="num_buckets"):
        proved_bound([Stage("a", dp_event.RandomizedResponseDpEvent(0.5, 0), "once", 1, ("REPLACE_ONE",))], 1e-6)


@pytest.mark.parametrize(("count", "librarys_rdp"), [(1, 0.1029), (10, 0.9939), (1000, 18.97)])
def test_the_count_of_responses_is_not_lost_as_the_librarys_pld_accountant_loses_it(count: int, librarys_rdp: float) -> None:
    """It says .1000810 of any number of them. Ours is between the exact value, by the binomial form, and the library's RDP."""
    responses = dp_event.SelfComposedDpEvent(randomized_response(0.1, 2), count)
    relation = NeighboringRelation.REPLACE_ONE
    pld_accountant, rdp_accountant = PLDAccountant(relation), RdpAccountant(neighboring_relation=relation)
    assert pld_accountant.compose(responses).get_epsilon(1e-5) == pytest.approx(0.1000810, abs=5e-8)
    assert rdp_accountant.compose(responses).get_epsilon(1e-5) == pytest.approx(librarys_rdp, rel=5e-4)
    lies, bound = np.arange(count + 1), event_bound(responses, 1e-5, "REPLACE_ONE").epsilon
    odds, losses = binom.pmf(lies, count, 1 / (1 + math.exp(0.1))), 0.1 * (count - 2 * lies)
    exact = brentq(lambda epsilon: float(odds @ np.maximum(0.0, -np.expm1(epsilon - losses))) - 1e-5, 0.0, 0.1 * count)
    assert exact <= bound <= librarys_rdp  # pyright: ignore[reportOperatorIssue]
    assert bound == pytest.approx(exact, rel=4e-3)
    composition = mechanisms(responses, "REPLACE_ONE")
    assert ACCOUNTANTS["rdp"].epsilon(composition, 1e-5) <= librarys_rdp


def test_pld_composes_a_million_steps_and_no_more() -> None:
    assert pld.most_steps(0.5) == 10**6
    with pytest.raises(RefusedError, match="limited to 1000000 steps"):
        pld.epsilon({SampledGaussian(1e-3, 9.0): 10**6 + 1}, 1e-3)


def test_a_grid_too_coarse_for_floating_point_is_refused() -> None:
    with pytest.raises(RefusedError, match="no grid"):
        pld.epsilon({SampledGaussian(0.5, 1.0): 1}, 1e-5, 501.0)


def test_laplace_events_have_a_bound() -> None:
    plain = Stage("a", dp_event.LaplaceDpEvent(1.0), "per_step", 3)
    sampled = Stage("b", dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)), "per_step", 3)
    assert 2.5 < proved_bound([plain], 1e-5).epsilon <= 3.0 + 1e-3
    assert 0 < proved_bound([sampled], 1e-5).epsilon < proved_bound([plain], 1e-5).epsilon


@pytest.mark.parametrize("event", [dp_event.LaplaceDpEvent(0.0), dp_event.DiscreteLaplaceDpEvent(0.0, 1)])
def test_laplace_noise_of_zero_bounds_nothing(event: dp_event.DpEvent) -> None:
    assert math.isinf(event_bound(event, 1e-5, "REPLACE_SPECIAL").epsilon)


def test_small_fixed_batch_profile_by_enumeration() -> None:
    """Phase I for two records and a batch of one, on the line: the worst pair, integrated numerically."""
    mu, x = 1.2, np.linspace(-12, 14, 400_001)
    density = lambda centre: np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    p, q = 0.5 * density(0.0) + 0.5 * density(mu), density(0.0)
    pmf = distribution({FixedBatchGaussian(2, 1, mu): 1}, 1e-3)
    for epsilon in (0.0, 0.1, 0.4):
        exact = float(np.sum(np.maximum(0, p - math.exp(epsilon) * q)) * (x[1] - x[0]))
        assert pmf.get_delta_for_epsilon(epsilon) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("epsilon", [29.0, 31.0, 45.0])
def test_the_profile_of_a_sampled_pair_at_large_epsilon(epsilon: float) -> None:
    """By its formula, on both sides of where e^epsilon is left on."""
    inner = math.log1p(math.expm1(epsilon) / 0.3)
    assert sampled_delta(0.3, 9.0, epsilon) == pytest.approx(0.3 * gdp_delta(9.0, inner), rel=1e-10, abs=0)


def test_plans_report_replace_special_and_replace_one_beside_it() -> None:
    """n is public, fixed and checked, so no plan's headline is add or remove; an embedding's replace-one value is the larger one."""
    facts = DatasetFacts(name="made", num_records=1437, kind=ImageKind(size=(1, 8, 8)), classes=tuple("0123456789"))
    merf = make_plan("dp-merf", facts, epsilon=1.0)
    assert merf.bound.neighboring_relation == "REPLACE_SPECIAL"
    assert merf.replace_one is not None
    assert merf.replace_one.neighboring_relation == "REPLACE_ONE"
    assert merf.bound.epsilon <= 1.0 < merf.replace_one.epsilon
    promise = make_plan("dp-promise", facts, epsilon=10.0)
    assert (promise.bound.neighboring_relation, promise.replace_one) == ("REPLACE_SPECIAL", None)
    older = {key: value for key, value in merf.model_dump(mode="json").items() if key != "replace_one"}
    assert Plan.model_validate(older).bound == merf.bound


@pytest.mark.parametrize(("rate", "mu", "order"), [(0.1, 0.5, 2.0), (0.3, 1.1, 2.0), (1e-6, 1.1, 2.0), (0.02, 3.0, 5.0), (0.5, 0.01, 1.5)])
def test_the_divergence_of_a_visible_batch_is_that_of_its_mixture(rate: float, mu: float, order: float) -> None:
    """log(1 - q + q E e^{(a - 1) loss}) / (a - 1), the moment of a mu-GDP pair being e^{a (a - 1) mu^2 / 2}."""
    divergence = float(rdp.DIVERGENCES[VisibleGaussian](VisibleGaussian(rate, mu), (order,))[0])
    exact = math.log1p(rate * math.expm1(order * (order - 1) * mu**2 / 2)) / (order - 1)
    assert exact * (1 - 1e-15) <= divergence <= exact * (1 + 1e-8), "never short by more than the formula's own rounding here"


def test_a_realised_batch_of_every_record_is_one_gaussian() -> None:
    event = RealisedBatchSizeDpEvent(1.0, 2.0)
    assert mechanisms(event, "REPLACE_SPECIAL") == {ExactGaussian(0.5): 1}


def test_no_replace_one_bound_where_one_stage_does_not_hold_under_it() -> None:
    both = Stage("a", dp_event.GaussianDpEvent(2.0), "once", 1, ("REPLACE_SPECIAL", "REPLACE_ONE"))
    null = Stage("b", dp_event.GaussianDpEvent(2.0), "once", 1, ("REPLACE_SPECIAL",))
    assert replace_one_bound([both], 1e-5) is not None
    assert replace_one_bound([both, null], 1e-5) is None


def test_parts_of_one_release_cost_their_joint_distance_where_one_record_is_replaced_and_elsewhere_what_each_does() -> None:
    both = ("REPLACE_SPECIAL", "REPLACE_ONE")
    parts = [Stage(name, PartOfGaussianDpEvent(1.0, 0.5, (1.0, 1.0), 1 / 1.2), "once", 1, both) for name in ("a", "b")]
    stated = {1: 1.0, 2: 1.2, 3: math.sqrt(3)}  # a part by itself; both; and one more than there are
    beside = Stage("c", ReplaceOneGaussianDpEvent(0.5, 0.5), "once", 1, both)
    for count in (2, 3):
        bound = replace_one_bound((parts * 2)[:count], 1e-5)
        assert bound is not None
        assert bound.epsilon == pytest.approx(gdp_epsilon(stated[count], 1e-5))
    with_other = replace_one_bound([*parts, beside], 1e-5)
    assert with_other is not None
    assert with_other.epsilon == pytest.approx(gdp_epsilon(math.sqrt(1.2**2 + 2**2), 1e-5))
    assert proved_bound(parts, 1e-5).epsilon == pytest.approx(gdp_epsilon(math.sqrt(0.5), 1e-5))
    assert mechanisms(parts[0].event or dp_event.NoOpDpEvent(), "REPLACE_ONE") == {ExactGaussian(1.0): 1}
