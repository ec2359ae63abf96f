"""What has a bounded range: its profile, what accountants make of it, and the exponential mechanism's event."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.stats import norm

from workbench.errors import RefusedError, WorkbenchError
from workbench.privacy.accounting.accountants import ACCOUNTANTS, pld
from workbench.privacy.accounting.accountants.mechanisms import BoundedRange, ExactGaussian
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounded_range import MOST_CHOICES, adaptive_delta, bounded_range_delta
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.zero_out import zero_out


def two_losses(range_: float, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """The two outputs' probabilities on either side, their losses `largest` and `largest` less the range."""
    chance = (math.exp(-largest) - math.exp(-range_)) / -math.expm1(-range_)
    other = np.array([chance, 1 - chance])
    return other * np.exp([largest, largest - range_]), other


@pytest.mark.parametrize("range_", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("share", [-1.2, -0.5, 0.0, 0.3, 0.9, 1.0])
def test_the_profile_is_the_largest_of_all_pairs_of_two_losses(range_: float, share: float) -> None:
    epsilon = share * range_
    deltas = [
        np.maximum(one - math.exp(epsilon) * other, 0).sum() for one, other in (two_losses(range_, t) for t in np.linspace(0, range_, 4001))
    ]
    assert bounded_range_delta(range_, np.array([epsilon]))[0] == pytest.approx(max(deltas), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("range_", [0.1, 2.0])
def test_one_choice_costs_what_its_profile_says(range_: float) -> None:
    delta = 1e-3
    exact = range_ + 2 * math.log1p(-math.sqrt(delta * -math.expm1(-range_)))
    assert exact <= pld.epsilon({BoundedRange(range_): 1}, delta) <= exact + 2e-4


@pytest.mark.parametrize("largest", [0.25, 0.4, 0.6])
def test_no_composition_of_real_choices_costs_more(largest: float) -> None:
    """Eight choices with the same two losses, summed over all ways they can come."""
    range_, steps, delta = 0.8, 8, 1e-3
    one, other = two_losses(range_, largest)
    ways = np.array([math.comb(steps, k) for k in range(steps + 1)])
    ones, others = (np.array([side[0] ** k * side[1] ** (steps - k) for k in range(steps + 1)]) * ways for side in (one, other))
    for name in ("pld", "rdp"):
        epsilon = ACCOUNTANTS[name].epsilon({BoundedRange(range_): steps}, delta)
        assert np.maximum(ones - math.exp(epsilon) * others, 0).sum() <= delta
        assert epsilon <= range_ * steps


def test_divergences_are_those_of_a_gaussian_of_half_the_range_and_at_most_the_range() -> None:
    for epsilon, delta in itertools.product((0.1, 1.0), (1e-5, 1e-9)):
        gaussian = ACCOUNTANTS["rdp"].epsilon({ExactGaussian(epsilon / 2 * math.sqrt(10)): 1}, delta)
        assert ACCOUNTANTS["rdp"].epsilon({BoundedRange(epsilon): 10}, delta) <= gaussian * (1 + 1e-9)
    assert ACCOUNTANTS["rdp"].epsilon({BoundedRange(50.0): 1}, 1e-9) <= 50.0 + 1e-4


def test_the_central_limit_accountant_refuses_by_name() -> None:
    with pytest.raises(RefusedError, match="BoundedRange"):
        ACCOUNTANTS["gdp"].epsilon({BoundedRange(1.0): 2}, 1e-5)


def test_the_event_is_read_under_both_relations_and_no_other() -> None:
    event = ExponentialMechanismDpEvent(2.0, zero_out_ratio=0.5)
    assert dict(mechanisms(event, "REPLACE_ONE")) == {BoundedRange(2.0): 1}
    assert dict(mechanisms(event, "REPLACE_SPECIAL")) == {BoundedRange(1.0): 1}
    assert zero_out(event) == ExponentialMechanismDpEvent(1.0, 1.0)
    assert dict(mechanisms(ExponentialMechanismDpEvent(0.0, 1.0), "REPLACE_ONE")) == {}
    with pytest.raises(RefusedError, match="ExponentialMechanismDpEvent has no bound under ADD_OR_REMOVE_ONE"):
        mechanisms(event, "ADD_OR_REMOVE_ONE")
    with pytest.raises(WorkbenchError, match="zero_out_ratio in"):
        mechanisms(ExponentialMechanismDpEvent(1.0, 0.0), "REPLACE_SPECIAL")
    with pytest.raises(TypeError, match="zero_out_ratio"):
        ExponentialMechanismDpEvent(1.0)  # pyright: ignore[reportCallIssue]
    endless = Stage("a", ExponentialMechanismDpEvent(math.inf, 0.5), "once", 1, ("REPLACE_SPECIAL",))
    assert proved_bound([endless], 1e-5).epsilon == math.inf


def test_choices_of_one_range_are_one_block_and_of_others_only_those_that_follow_one_another() -> None:
    """For a b a b the argument gives D_a,2 D_b,1^2 and not D_a,2 D_b,2."""
    a, b = (ExponentialMechanismDpEvent(epsilon, 1.0) for epsilon in (1.0, 0.5))
    one_after_the_other = dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(b, 2), dp_event.SelfComposedDpEvent(a, 3)])
    assert dict(mechanisms(one_after_the_other, "REPLACE_ONE")) == {BoundedRange(0.5, block=1): 2, BoundedRange(1.0): 3}
    in_turn = dict(mechanisms(dp_event.ComposedDpEvent([a, b, a, b]), "REPLACE_ONE"))
    assert in_turn == {BoundedRange(1.0): 2, BoundedRange(0.5, block=2): 1, BoundedRange(0.5, block=4): 1}
    in_blocks = {BoundedRange(1.0): 2, BoundedRange(0.5): 2}
    assert ACCOUNTANTS["pld"].epsilon(in_turn, 1e-5) > ACCOUNTANTS["pld"].epsilon(in_blocks, 1e-5)


def brute(kinds: str, range_: float, mu: float, epsilon: np.ndarray, places: int = 41) -> np.ndarray:
    """The largest delta at each epsilon of choices ("c") and Gaussians ("g", seen to 24 bins) in this order, each choice's losses placed by
    an adversary who saw what came before: backwards over all histories, on no grid of delta and without a privacy loss distribution."""
    if not kinds:
        return np.maximum(-np.expm1(epsilon), 0.0)
    if kinds[0] == "g":
        ends = np.concatenate([[-np.inf], np.linspace(-4, 4 + mu, 23), [np.inf]])
        one, other = np.diff(norm.cdf(ends - mu)), np.diff(norm.cdf(ends))
        return np.tensordot(one, brute(kinds[1:], range_, mu, epsilon - np.log(one / other).reshape(-1, *[1] * epsilon.ndim), places), 1)
    largest = np.linspace(0, range_, places).reshape(-1, *[1] * epsilon.ndim)
    upper = np.expm1(largest - range_) / math.expm1(-range_)
    high, low = (brute(kinds[1:], range_, mu, epsilon - loss, places) for loss in (largest, largest - range_))
    return (upper * high + (1 - upper) * low).max(axis=0)


@pytest.mark.parametrize("range_", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_adaptive_profile_is_the_largest_that_an_adversary_reaches(range_: float, count: int) -> None:
    epsilon = np.array([-1.2, -0.4, 0.0, 0.3, 0.8, 1.5]) * range_
    profile, reached = adaptive_delta(range_, count, epsilon), brute("c" * count, range_, 0.0, epsilon, places=161 if count < 3 else 61)
    assert (reached <= profile * (1 + 1e-12) + 1e-15).all()
    assert profile == pytest.approx(reached, rel=5e-3, abs=1e-9)


@pytest.mark.parametrize("kinds", ["gcc", "cgc", "ccg"])
def test_gaussians_before_between_and_after_choices_cost_no_more_than_the_composition(kinds: str) -> None:
    """The composition knows no order. It is reached up to the bins where the Gaussian comes first, so that all choices can see it."""
    range_, mu, epsilon = 0.7, 0.6, np.array([0.2, 0.6, 1.2])
    composed = pld.distribution({BoundedRange(range_): 2, ExactGaussian(mu): 1}, 1e-4)
    bound = np.array([float(composed.get_delta_for_epsilon(float(value))) for value in epsilon])
    reached, first = brute(kinds, range_, mu, epsilon), brute("gcc", range_, mu, epsilon)
    assert (reached <= bound).all()
    assert (reached <= first * (1 + 1e-9)).all()
    assert kinds != "gcc" or (reached > 0.97 * bound).all()


@pytest.mark.parametrize(("range_", "count", "single"), [(0.5, 14, 4.3995), (0.1, 14, 0.7498), (0.05, 30, 0.5492), (0.2, 100, 5.1158)])
def test_many_choices_cost_less_than_as_many_worst_ones(range_: float, count: int, single: float) -> None:
    """Than the profile of one choice composed so often (`single`), and than by moments; and no less than one tenth fewer of them."""
    composition = {BoundedRange(range_): count}
    epsilon = pld.epsilon(composition, 1e-5)
    assert epsilon < 0.96 * min(single, ACCOUNTANTS["rdp"].epsilon(composition, 1e-5))
    assert epsilon > pld.epsilon({BoundedRange(range_): count * 9 // 10}, 1e-5)


def test_the_adaptive_profile_is_the_same_in_both_directions_and_falls() -> None:
    epsilon = np.linspace(-4, 4, 801)
    for count in (2, 7, MOST_CHOICES):
        profile = adaptive_delta(0.1, count, epsilon)
        assert profile == pytest.approx(-np.expm1(epsilon) + np.exp(epsilon) * profile[::-1], abs=1e-14)
        assert (np.diff(profile) <= 0).all()
        assert (np.diff(np.diff(profile) / np.diff(np.exp(epsilon))) >= -1e-9).all(), "convex in e^epsilon, as a profile is"
        assert (profile >= adaptive_delta(0.1, count - 1, epsilon) * (1 - 1e-9) - 1e-20).all()
