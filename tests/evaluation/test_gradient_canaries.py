"""Audits of the private step by gradient canaries: what an attacker sees, and that a broken step is found once."""

import pytest
import torch
from support.broken_steps import DELTA, LENGTH, STEPS, noise_for, step_of, steps_by_name

from workbench.evaluation.gradient_canaries import gradient_audit, trained_weights
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.attacks.canaries import AuditDesign

DESIGN = AuditDesign(num_canaries=100, num_guesses=100, seed=1)


def test_a_step_without_noise_adds_each_canary_s_clipped_direction() -> None:
    weights = trained_weights(step_of(0.0, 0), torch.eye(6)[torch.tensor([0, 2, 5])], 4, LENGTH)
    assert weights.tolist() == pytest.approx([4 / 50, 0, 4 / 50, 0, 0, 4 / 50])
    unclipped = trained_weights(step_of(0.0, 0, clipping=False), torch.eye(6)[torch.tensor([1])], 1, LENGTH)
    assert unclipped.tolist() == pytest.approx([0, LENGTH / 50, 0, 0, 0, 0])


def test_the_noise_is_that_of_the_bound() -> None:
    assert gdp_epsilon(STEPS**0.5 / noise_for(1.0), DELTA) == pytest.approx(1.0)
    spread = trained_weights(step_of(noise_for(1.0), 3), torch.eye(4000)[:1], 2, LENGTH)[1:].std()
    assert float(spread) == pytest.approx(2**0.5 * noise_for(1.0) / 50, rel=0.05)


@pytest.mark.parametrize("name", steps_by_name(0))
def test_a_broken_step_raises_the_alarm_and_the_intact_one_does_not(name: str) -> None:
    _, bound, _ = gradient_audit(steps_by_name(7)[name], DESIGN, STEPS, LENGTH, DELTA)
    assert bound.contradicts(1.0) is (name != "intact")
    assert bound.ceiling > 3
