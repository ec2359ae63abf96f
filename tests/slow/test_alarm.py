"""How often an audit raises the alarm: on steps that are broken, and on the intact one. Every repetition is a training of its own."""

from typing import Any

import pytest
import torch
from support.broken_steps import DELTA, LENGTH, STEPS, noise_for, step_of, steps_by_name
from support.slow_tier import PRIVATE_STEP

from workbench.evaluation.gradient_canaries import gradient_audit, trained_weights
from workbench.privacy.attacks.audit import membership_test
from workbench.privacy.attacks.canaries import AuditDesign

REPETITIONS, RUNS = 50, 500
REALISED_REPETITIONS, REALISED_BOUND, REALISED_DELTA = 20, 2.6, 0.01
DEPENDS = [
    *PRIVATE_STEP,
    "tests/support/broken_steps.py",
    "workbench/evaluation/gradient_canaries.py",
    "workbench/privacy/attacks/*",
    "workbench/training/randomness.py",
    "workbench/training/streams.py",
]


@pytest.mark.slow(depends=DEPENDS)
def test_broken_steps_raise_the_alarm_and_the_intact_one_does_not(figures: dict[str, Any]) -> None:
    """Bound 1 at 95 % confidence, 100 canaries, all guessed."""
    alarms = dict.fromkeys(steps_by_name(0), 0)
    for repetition in range(REPETITIONS):
        design = AuditDesign(num_canaries=100, num_guesses=100, seed=repetition)
        for name, make in steps_by_name(repetition).items():
            alarms[name] += gradient_audit(make, design, STEPS, LENGTH, DELTA)[1].contradicts(1.0)
    figures |= {name: f"{count} of {REPETITIONS} alarms" for name, count in alarms.items()}
    assert alarms.pop("intact") <= 7
    assert min(alarms.values()) >= 45


@pytest.mark.slow(depends=DEPENDS)
def test_division_by_the_realised_batch_is_found_by_whole_runs(figures: dict[str, Any]) -> None:
    """One record is always there and points against the canary: divided by what was drawn, the noise is half where the canary joins."""
    alarms = dict.fromkeys(("expected", "realised"), 0)
    for repetition in range(REALISED_REPETITIONS):
        for division in alarms:
            bound = _by_whole_runs(division, repetition)
            alarms[division] += bound > REALISED_BOUND
    figures |= {f"divided by the {name} batch": f"{count} of {REALISED_REPETITIONS} alarms" for name, count in alarms.items()}
    assert alarms["expected"] <= 4
    assert alarms["realised"] >= 18


def _by_whole_runs(division: str, repetition: int) -> float:
    """The lower bound from the errors of one test, fixed beforehand: the canary stayed out where the weight is above the threshold."""
    noise = noise_for(REALISED_BOUND, REALISED_DELTA, steps=1)
    threshold = 1.3 if division == "realised" else 0.65  # 1 and .5 are the weights without noise where the canary stays out
    above = dict.fromkeys((False, True), 0)
    for joined in above:
        inputs = torch.tensor([[1.0], [-1.0]])[: 1 + joined]
        for run in range(RUNS):
            seed = 2 * (REALISED_REPETITIONS * run + repetition) + joined
            weight = float(trained_weights(step_of(noise, seed, batch=2.0, division=division), inputs, 1, LENGTH))
            above[joined] += weight > threshold
    return membership_test(RUNS - above[False], RUNS, above[True], RUNS, REALISED_DELTA).epsilon
