"""Noise that is drawn almost from the law of its event: its distance from it is paid out of delta, wherever an epsilon is shown."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from support.homes import here

from workbench.errors import RefusedError
from workbench.privacy import epsilon_curve, group_bound
from workbench.privacy.accounting.bounds import accountant_values, proved_bound
from workbench.privacy.accounting.calibration import calibrate_integer, calibrate_real
from workbench.privacy.accounting.gaussian import gdp_delta, gdp_epsilon
from workbench.privacy.accounting.sampler import sampler_distance
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.attacks.tradeoff import event_tradeoff
from workbench.privacy.spending.ledger import Ledger

DELTA = 1e-5
SPECIAL = ("REPLACE_SPECIAL",)
EXACT = Stage("release", GaussianDpEvent(2.0), "once", 1, SPECIAL)
DPSGD = Stage("train", PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), "per_step", 1000, SPECIAL)


def drawn(distance: float, stage: Stage = EXACT) -> Stage:
    """The stage with a sampler at `distance`."""
    return replace(stage, sampler_distance=distance)


@pytest.mark.parametrize("distance", [1e-9, 1e-7, 5e-7])
def test_the_distance_is_paid_out_of_delta(distance: float) -> None:
    """The bound meets delta with the price of its own epsilon, and is the least that does."""
    bound = proved_bound([drawn(distance)], DELTA).epsilon
    paid = (1 + math.exp(bound)) * distance
    assert float(gdp_delta(0.5, bound)) + paid <= DELTA * (1 + 1e-9)
    assert gdp_epsilon(0.5, DELTA) < bound <= gdp_epsilon(0.5, DELTA - paid) * (1 + 1e-4)


def test_every_accountant_pays() -> None:
    exact, real = accountant_values([DPSGD], DELTA), accountant_values([drawn(1e-7, DPSGD)], DELTA)
    assert all(real[name] > exact[name] for name in ("gdp", "rdp", "pld"))  # pyright: ignore[reportOperatorIssue]


def test_free_stages_pay_nothing_and_paid_ones_add_up() -> None:
    free = Stage("public", None, "free", sampler_distance=1.0)
    assert sampler_distance([free, EXACT]) == 0.0
    total = sampler_distance([free, drawn(1e-8), drawn(3e-8)])
    assert 4e-8 <= total <= 4.0000001e-8


@pytest.mark.parametrize("distance", [5e-6, 1e-5, 0.3])
def test_a_distance_that_uses_up_delta_leaves_no_bound(distance: float) -> None:
    bound = proved_bound([drawn(distance)], DELTA)
    assert (bound.epsilon, bound.status) == (math.inf, "not_proved")
    assert "total variation" in bound.reason
    assert all("refused" in value for value in accountant_values([drawn(distance)], DELTA).values())  # pyright: ignore[reportOperatorIssue]


def test_a_target_whose_price_takes_delta_is_refused_for_any_method() -> None:
    def more_noise(sigma: float) -> list[Stage]:
        return [drawn(1e-9, replace(EXACT, event=GaussianDpEvent(sigma)))]

    def more_steps(steps: int) -> list[Stage]:
        return [drawn(1e-9 * steps, replace(DPSGD, steps=steps))]

    for refused in (lambda: calibrate_real(more_noise, 9.22, DELTA), lambda: calibrate_integer(more_steps, 9.22, DELTA, 1, 50, True)):
        with pytest.raises(RefusedError, match=r"below 9\.21, got 9\.22"):  # log(1e-5 / 1e-9) = 9.210
            refused()
    assert calibrate_integer(more_steps, 9.2, DELTA, 1, 50, increasing=True) >= 1
    assert calibrate_real(more_noise, 9.22, DELTA, evaluate=lambda sigma: 10 / sigma) == pytest.approx(10 / 9.22, rel=0.01)


def test_calibration_curves_groups_and_tradeoffs_pay_too() -> None:
    def stages(sigma: float) -> list[Stage]:
        return [drawn(1e-6, replace(EXACT, event=GaussianDpEvent(sigma)))]

    sigma = calibrate_real(stages, 1.0, DELTA)
    assert 0.995 <= proved_bound(stages(sigma), DELTA).epsilon <= 1.0
    curve = epsilon_curve(stages, [4.0], DELTA)
    assert curve["gdp"][0] == pytest.approx(proved_bound(stages(4.0), DELTA).epsilon)
    assert group_bound(stages(8.0), DELTA, 2).epsilon > gdp_epsilon(0.25, DELTA)
    response = replace(DPSGD, event=PoissonSampledDpEvent(0.01, GaussianDpEvent(20.0)), relations=SPECIAL)
    assert group_bound([drawn(1e-8, response)], DELTA, 2).epsilon > group_bound([response], DELTA, 2).epsilon
    alpha = np.array([1e-4, 0.01, 0.3])
    assert (event_tradeoff([drawn(1e-3)], alpha) < event_tradeoff([EXACT], alpha)).all()


def test_the_ledger_keeps_the_distance_and_its_total_pays_it(workbench_home: Path) -> None:
    ledger = Ledger(here().ledger)
    for run in ("a", "b"):
        ledger.open_run(run, "data", "digits", "dp-merf", [drawn(1e-7)], DELTA)
        ledger.charge(run, "release", 1)
    assert [stage.sampler_distance for stage in ledger.spent("a")] == [1e-7]
    assert ledger.epsilon_spent("a", DELTA).epsilon == proved_bound([drawn(1e-7)], DELTA).epsilon
    both = proved_bound([drawn(1e-7), drawn(1e-7)], DELTA)
    assert ledger.total("data").epsilon == pytest.approx(both.epsilon, rel=1e-9)
    assert both.epsilon > proved_bound([EXACT, EXACT], DELTA).epsilon
    ledger.charge_again("a", "release", 1)
    assert ledger.total("data", delta=DELTA).epsilon > both.epsilon
    assert sampler_distance(ledger.entries("data")[0].paid_stages()) == pytest.approx(2e-7)


def test_steps_that_were_charged_pay_their_share_of_the_distance(workbench_home: Path) -> None:
    stage = replace(drawn(4e-7), spent="per_step", steps=4)
    ledger = Ledger(here().ledger)
    ledger.open_run("a", "data", "digits", "dp-merf", [stage], DELTA)
    ledger.charge("a", stage.name, 1)
    (spent,) = ledger.spent("a")
    assert [spent.as_stage(count).sampler_distance for count in (1, 4, 8)] == pytest.approx([1e-7, 4e-7, 8e-7])
