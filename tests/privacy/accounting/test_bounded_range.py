"""What has a bounded range: its profile, what accountants make of it, and the exponential mechanism's event."""

import itertools
import math

import numpy as np
import pytest

from workbench.errors import RefusedError, WorkbenchError
from workbench.privacy.accounting.accountants import ACCOUNTANTS, pld
from workbench.privacy.accounting.accountants.mechanisms import BoundedRange, ExactGaussian
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounded_range import bounded_range_delta
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import ExponentialMechanismDpEvent, zero_out
from workbench.privacy.accounting.stages import Stage


def two_losses(range_: float, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """The two outputs' probabilities on either side, their losses `largest` and `largest` less the range."""
    chance = (math.exp(-largest) - math.exp(-range_)) / -math.expm1(-range_)
    other = np.array([chance, 1 - chance])
    return other * np.exp([largest, largest - range_]), other


@pytest.mark.parametrize("range_", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("share", [-1.2, -0.5, 0.0, 0.3, 0.9, 1.0])
def test_the_profile_is_the_largest_of_all_pairs_of_two_losses(range_: float, share: float) -> None:
    epsilon = share * range_
    found = [
        np.maximum(one - math.exp(epsilon) * other, 0).sum() for one, other in (two_losses(range_, t) for t in np.linspace(0, range_, 4001))
    ]
    assert bounded_range_delta(range_, np.array([epsilon]))[0] == pytest.approx(max(found), rel=1e-6, abs=1e-12)


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
