"""The curves of epsilon: at a plan's own setting they have the plan's own bound."""

import pytest
from support.quick import quick_plan

from workbench.datasets import facts
from workbench.methods import METHODS
from workbench.pages.budget.curves import AXES, counted_stages, curve_frame, refusals, setting_of, varied_stages, without_curves
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy import accountant_values, epsilon_curve, proved_bound
from workbench.serialization import dumps
from workbench.ui.charts import accountant_curves
from workbench.ui.theme import CLAIMED, EXACT

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
    assert proved_bound(varied_stages(plan.stages, axis, setting), plan.delta).epsilon == pytest.approx(plan.bound.epsilon, rel=1e-6)
    curve = epsilon_curve(lambda value: varied_stages(plan.stages, axis, value), [setting], plan.delta)
    least = min(epsilon for (epsilon,) in curve.values() if epsilon is not None)
    assert least == pytest.approx(plan.bound.epsilon, rel=0.01)


def test_shares_of_one_budget_stay_shares() -> None:
    stages = quick_plan("class-moments").stages
    setting = setting_of(stages, "noise_multiplier")
    assert setting is not None
    doubled = varied_stages(stages, "noise_multiplier", 2 * setting)
    noises = [[setting_of([stage], "noise_multiplier") for stage in plan_stages] for plan_stages in (stages, doubled)]
    assert noises[1] == pytest.approx([2 * noise for noise in noises[0] if noise is not None])
    assert len({round(noise, 9) for noise in noises[0] if noise is not None}) == 3


def names_of(plan: Plan, axis: str = "noise_multiplier") -> set[str]:
    """The curves that are drawn, each with a number somewhere."""
    frame = curve_frame(dumps(plan), axis)
    return set(frame.loc[frame["epsilon"].notna(), "accountant"])


@pytest.mark.parametrize(("method", "preset"), [("chu-dpdm", "printed-clipping"), ("dp-sad", "published-eq15")])
def test_plain_gaussian_releases_have_their_curves(method: str, preset: str) -> None:
    plan = make_plan(method, facts("mnist"), preset=preset)
    assert names_of(plan) == {f"gdp{EXACT}", "rdp", "pld"}
    assert setting_of(plan.stages, "steps")
    halved = varied_stages(plan.stages, "noise_multiplier", (setting_of(plan.stages, "noise_multiplier") or 0) / 2)
    assert proved_bound(halved, plan.delta).epsilon > 2.5 * plan.bound.epsilon


@pytest.mark.parametrize(
    ("method", "preset", "axis", "drawn", "accountant", "tolerance"),
    [
        ("dp-promise", "published", "noise_multiplier", {"gdp", "rdp", "pld"}, "gdp", 1e-6),
        ("chu-dpdm", "printed", "noise_multiplier", {"gdp", "rdp", "pld"}, "rdp", 0.1),
        ("dp-sad", "published", "noise_multiplier", {"gdp", "rdp", "pld"}, "rdp", 0.01),
        ("dpgen", "published", "response_epsilon", {"rdp", "pld"}, "pld", 1e-3),
        ("p3dm", "published", "response_epsilon", {"rdp", "pld"}, "pld", 1e-3),
    ],
)
def test_where_no_bound_holds_the_curves_are_of_the_claim_and_dashed(
    method: str, preset: str, axis: str, drawn: set[str], accountant: str, tolerance: float
) -> None:
    """The accountant that the paper converts with says at the plan's own setting what the paper's formula says."""
    plan = make_plan(method, facts("mnist"), preset=preset, target="claim")
    assert not plan.bound.is_finite
    assert names_of(plan, axis) == {f"{name}{CLAIMED}" for name in drawn}
    stages = counted_stages(plan)
    epsilon = accountant_values(stages, plan.delta)[accountant]
    assert epsilon == pytest.approx(plan.claim.epsilon, rel=tolerance)
    figure = accountant_curves(curve_frame(dumps(plan), axis), axis, axis)
    assert {line.line.dash for line in figure.data} == {"dash"}
    assert all("no bound" in line.name for line in figure.data)
    assert [said.split()[0] for said in refusals(plan, stages)] == [name.upper() for name in ("gdp", "rdp", "pld") if name not in drawn]


def test_an_accountant_that_refuses_says_why() -> None:
    plan = make_plan("mst", facts("breast-cancer"), epsilon=1)
    assert names_of(plan) == {"rdp", "pld"}
    assert refusals(plan, plan.stages) == ["GDP has no curve: The GDP accountant knows no central limit for BoundedRange."]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_curves_or_says_why_not(name: str) -> None:
    plan = quick_plan(name)
    stages = counted_stages(plan)
    if any(setting_of(stages, axis) is not None for axis in AXES):
        assert refusals(plan, stages) == [] or "has no curve: " in refusals(plan, stages)[0]
    else:
        assert plan.bound.reason in without_curves(plan)
        assert name in ("ddm", "nonprivate")
