"""Bounds for groups of records."""

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as library
from support.two_phases import TwoPhases

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent
from workbench.privacy.accounting.gaussian import gdp_delta, gdp_epsilon
from workbench.privacy.accounting.groups import group_bound, log_growth
from workbench.privacy.accounting.stages import Stage


def dp_sgd(sigma: float, q: float, steps: int) -> list[Stage]:
    return [Stage("DP-SGD", dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)), "per_step", steps)]


def test_gaussian_groups_are_exact() -> None:
    stages = [Stage("a", dp_event.GaussianDpEvent(4.0), "per_step", 2)]
    assert group_bound(stages, 1e-5, 3).epsilon == pytest.approx(gdp_epsilon(3 * math.sqrt(2) / 4, 1e-5))


def test_sampled_groups_are_binomial_mixtures() -> None:
    q, sigma, steps = 0.1, 5.0, 50
    weights = [(1 - q) ** 2, 2 * q * (1 - q), q**2]
    mixture = library.from_mixture_gaussian_mechanism(sigma, [0, 1, 2], weights).self_compose(steps)
    assert group_bound(dp_sgd(sigma, q, steps), 1e-5, 2).epsilon == pytest.approx(mixture.get_epsilon_for_delta(1e-5), abs=1e-6)


def test_one_record_is_the_bound_itself() -> None:
    assert group_bound(dp_sgd(2.0, 0.01, 100), 1e-5, 1) == proved_bound(dp_sgd(2.0, 0.01, 100), 1e-5)


def test_groups_cost_more_and_say_when_vacuous() -> None:
    values = [group_bound(dp_sgd(5.0, 0.05, 200), 1e-5, size) for size in (1, 2, 4, 60)]
    epsilons = [value.epsilon for value in values]
    assert epsilons == sorted(epsilons)
    assert "vacuous" not in values[2].reason
    assert "vacuous" in values[3].reason


def test_generic_conversion_where_there_is_no_group_form() -> None:
    stages = TwoPhases(noise_multiplier=20.0).renoised_stages()
    single, pair = proved_bound(stages, 1e-5), group_bound(stages, 1e-5, 2)
    assert pair.epsilon > 2 * single.epsilon
    assert pair.neighboring_relation == "REPLACE_SPECIAL"
    assert "generic conversion" in pair.reason
    fixed = [Stage("a", FixedBatchGaussianDpEvent(1000, 10, 1.0), "per_step", 100, ("REPLACE_ONE",))]
    assert "vacuous" in group_bound(fixed, 1e-5, 500).reason


def test_the_generic_conversion_meets_delta_from_below() -> None:
    """One release of 10 of 1000 records, whose profile is g delta_mu(log(1 + (e^eps - 1)/g)): delta' (e^{3 eps} - 1)/(e^eps - 1)."""
    stages = [Stage("a", FixedBatchGaussianDpEvent(1000, 10, 1.0), "once", 1, ("REPLACE_ONE",))]
    single = group_bound(stages, 1e-4, 3).epsilon / 3
    delta = 0.01 * float(gdp_delta(1.0, math.log1p(math.expm1(single) / 0.01)))
    assert 0.99e-4 <= delta * math.expm1(3 * single) / math.expm1(single) <= 1e-4


def test_log_growth() -> None:
    assert log_growth(0.0, 7) == pytest.approx(math.log(7))
    assert log_growth(0.3, 4) == pytest.approx(math.log(math.expm1(1.2) / math.expm1(0.3)))
    assert log_growth(900.0, 3) == pytest.approx(1800.0)


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_wrong_sizes(size: float) -> None:
    with pytest.raises(WorkbenchError, match="group_size"):
        group_bound(dp_sgd(1.0, 0.1, 1), 1e-5, size)  # pyright: ignore[reportArgumentType]
