"""A quantity of a plan at other values: the first release that has it says what it is, and all that have it change alike."""

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from workbench.privacy.accounting.events import DrawnPartGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.varying import AXES, setting_of, varied_stages

SPECIAL = ("REPLACE_SPECIAL",)
FREE = Stage("public", None, "free")
VOTES = Stage("votes", GaussianDpEvent(2.0), "once", 1, SPECIAL)
TRAINING = Stage("training", PoissonSampledDpEvent(0.01, GaussianDpEvent(4.0)), "per_step", 100, SPECIAL)


def test_the_first_release_that_has_a_quantity_says_what_it_is() -> None:
    plan = [FREE, VOTES, TRAINING]
    assert [setting_of(plan, axis) for axis in ("noise_multiplier", "sample_rate", "response_epsilon")] == [2.0, 0.01, None]
    assert setting_of([TRAINING], "steps") == 100


def test_releases_keep_their_shares() -> None:
    free, votes, training = varied_stages([FREE, VOTES, TRAINING], "noise_multiplier", 3.0)
    assert free == FREE
    assert [setting_of([stage], "noise_multiplier") for stage in (votes, training)] == pytest.approx([3.0, 6.0])
    assert setting_of([training], "sample_rate") == 0.01


def test_a_drawn_part_varies_in_noise_and_steps_and_keeps_its_parts() -> None:
    drawn = Stage("gradients", DrawnPartGaussianDpEvent(15, 2.0, True), "per_step", 100, SPECIAL)
    assert [setting_of([drawn], axis) for axis in AXES] == [2.0, 100, None, None]
    (louder,), (longer,) = varied_stages([drawn], "noise_multiplier", 3.0), varied_stages([drawn], "steps", 50)
    assert louder.event == DrawnPartGaussianDpEvent(15, 3.0, True)
    assert (longer.event, longer.steps) == (drawn.event, 50)
