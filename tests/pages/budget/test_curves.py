"""The curves of epsilon: at a plan's own setting they have the plan's own bound."""

import pytest
from support.quick import quick_plan

from workbench.pages.budget.curves import AXES, setting_of, varied
from workbench.privacy import epsilon_curve, proved_bound

SEVERAL = ["class-moments", "prior-moments", "selective-pretraining", "dp-promise", "dp-merf"]


@pytest.mark.parametrize("method", SEVERAL)
@pytest.mark.parametrize("axis", AXES)
def test_a_curve_passes_through_the_plan(method: str, axis: str) -> None:
    """Whatever shares of one budget its releases have."""
    plan = quick_plan(method)
    setting = setting_of(plan.stages, axis)
    if setting is None:
        assert axis != "noise_multiplier"
        return
    assert proved_bound(varied(plan.stages, axis, setting), plan.delta).epsilon == pytest.approx(plan.bound.epsilon, rel=1e-6)
    curve = epsilon_curve(lambda value: varied(plan.stages, axis, value), [setting], plan.delta)
    least = min(epsilon for (epsilon,) in curve.values() if epsilon is not None)
    assert least == pytest.approx(plan.bound.epsilon, rel=0.01)


def test_shares_of_one_budget_stay_shares() -> None:
    stages = quick_plan("class-moments").stages
    setting = setting_of(stages, "noise_multiplier")
    assert setting is not None
    doubled = varied(stages, "noise_multiplier", 2 * setting)
    noises = [[setting_of([stage], "noise_multiplier") for stage in found] for found in (stages, doubled)]
    assert noises[1] == pytest.approx([2 * noise for noise in noises[0] if noise is not None])
    assert len({round(noise, 9) for noise in noises[0] if noise is not None}) == 3
