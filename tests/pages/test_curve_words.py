"""The words under the Budget page's curves."""

from workbench.datasets import facts
from workbench.experiment import make_plan
from workbench.pages.budget.curves import about, counted_stages


def test_a_setting_that_counts_noise_otherwise_than_the_axis_says_how() -> None:
    plan = make_plan("pate-gan", facts("digits"), epsilon=3.0)
    words = about(plan, counted_stages(plan), "noise_multiplier")
    assert "The setting noise_multiplier, 55.1, is another number. Noise of the count of teachers" in words
    assert "another number" not in about(plan, counted_stages(plan), "steps")
    same = make_plan("dp-merf", facts("digits"), epsilon=3.0)
    assert "another number" not in about(same, counted_stages(same), "noise_multiplier")
