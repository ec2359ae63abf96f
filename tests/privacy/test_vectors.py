"""Every vector of tests/vectors.json (made without workbench) against what workbench computes."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import dp_event
from support.two_phases import TwoPhases

from workbench.methods.dp_promise import phases as claim
from workbench.methods.dp_sad.method import claimed as dp_sad_claimed
from workbench.models.recovery.config import keep_probability
from workbench.privacy.accounting.accountants import pld
from workbench.privacy.accounting.accountants.gdp import total_mu
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import accountant_values, epsilon_poisson_gaussian, proved_bound
from workbench.privacy.accounting.events import RealisedBatchSizeDpEvent, ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage

VECTORS = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())


def poisson(inputs: dict[str, Any]) -> dict[str, Any]:
    return epsilon_poisson_gaussian(inputs["noise_multiplier"], inputs["sample_rate"], inputs["steps"], inputs["delta"])


def phases(inputs: dict[str, Any]) -> list[Stage]:
    return TwoPhases(boundary=inputs["boundary"], noise_multiplier=inputs.get("noise_multiplier", 1.0)).renoised_stages()


def phase_terms(inputs: dict[str, Any]) -> dict[str, Any]:
    names = ("num_dimensions", "num_records", "batch_size_1", "steps_1")
    return {name: inputs[name] for name in names} | {"alphas_cumprod": TwoPhases(boundary=inputs["boundary"]).alphas_cumprod}


def dp_promise_claim(inputs: dict[str, Any]) -> float:
    rest = {name: inputs[name] for name in ("sample_rate_2", "steps_2", "noise_multiplier", "delta")}
    return claim.claimed(**phase_terms(inputs), **rest).epsilon


def visible_inclusion(inputs: dict[str, Any]) -> float:
    multiplier = 1 / claim.phase_one_distance(784, TwoPhases(boundary=inputs["boundary"]).alphas_cumprod)
    event = RealisedBatchSizeDpEvent(32 / 60000, multiplier)
    return proved_bound([Stage("a", event, "per_step", 5625, ("REPLACE_SPECIAL",))], inputs["delta"]).epsilon


def one_shot(relation: Any) -> Callable[[dict[str, Any]], float]:
    def value(inputs: dict[str, Any]) -> float:
        event = ReplaceOneGaussianDpEvent(1 / claim.phase_one_distance(784, TwoPhases(boundary=inputs["boundary"]).alphas_cumprod), 0.5)
        return proved_bound([Stage("a", event, "once", 1, (relation,))], inputs["delta"]).epsilon

    return value


def renoised_factor(inputs: dict[str, Any]) -> float:
    at_t = TwoPhases(boundary=inputs["timestep"]).alphas_cumprod
    ratio = at_t / TwoPhases(boundary=inputs["boundary"]).alphas_cumprod
    return math.sqrt((1 - ratio) / (1 - at_t))


def dp_sad_claim(inputs: dict[str, Any]) -> float:
    return dp_sad_claimed(**inputs).epsilon


GRID = 1e-4  # of the vectors by privacy loss distributions

EXACT: dict[str, tuple[Callable[[dict[str, Any]], Any], float]] = {
    "poisson_gdp": (lambda i: poisson(i)["gdp"], 1e-6),
    "poisson_pld": (lambda i: poisson(i)["pld"], 1e-5),
    "alphas_cumprod": (lambda i: TwoPhases(boundary=i["boundary"]).alphas_cumprod * 1e4, 1e-9),
    "phase_1_distance": (lambda i: claim.phase_one_distance(784, TwoPhases(boundary=i["boundary"]).alphas_cumprod), 1e-9),
    "phase_1_mu": (lambda i: claim.phase_one_mu(**phase_terms(i)), 1e-9),
    "phase_1_claim": (lambda i: claim.claimed_phase_one(**phase_terms(i), delta=i["delta"]), 1e-9),
    "phase_1_clt_mu": (lambda i: total_mu(mechanisms(phases(i)[0].total(), "REPLACE_ONE")), 1e-9),
    "phase_1_clt": (lambda i: accountant_values(phases(i)[:1], i["delta"])["gdp"], 1e-9),
    "dp_promise_claim": (dp_promise_claim, 1e-9),
    "phase_1_pld": (lambda i: pld.epsilon(mechanisms(phases(i)[0].total(), "REPLACE_ONE"), i["delta"], GRID), 1e-5),
    "phase_1_rdp": (lambda i: accountant_values(phases(i)[:1], i["delta"])["rdp"], 1e-4),
    "two_phase_pld": (lambda i: proved_bound(phases(i), i["delta"]).epsilon, 1e-5),
    "visible_inclusion": (visible_inclusion, 1e-4),
    "one_shot_zero_out": (one_shot("REPLACE_SPECIAL"), 1e-9),
    "one_shot_replace_one": (one_shot("REPLACE_ONE"), 1e-9),
    "renoised_factor": (renoised_factor, 1e-9),
    "dp_sad_claim": (dp_sad_claim, 1e-6),
    "keep_probability": (lambda i: keep_probability(i["epsilon"], i["num_candidates"]), 1e-9),
}


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["name"] in EXACT], ids=lambda v: f"{v['name']}-{v['printed']}")
def test_value(vector: dict[str, Any]) -> None:
    compute, tolerance = EXACT[vector["name"]]
    assert compute(vector["inputs"]) == pytest.approx(vector["value"], rel=tolerance)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["name"] == "phase_1_pld"], ids=lambda v: v["printed"])
def test_the_reported_grid_never_gives_more(vector: dict[str, Any]) -> None:
    """Where 1e-4 is not small against epsilon, the grid is finer than that of the vectors: at most half a per cent here."""
    inputs = vector["inputs"]
    reported = accountant_values(phases(inputs)[:1], inputs["delta"])["pld"]
    assert isinstance(reported, float)
    assert 0.995 * vector["value"] < reported <= vector["value"] * (1 + 1e-5)


@pytest.mark.parametrize("vector", [v for v in VECTORS if v["name"] in ("poisson_rdp", "poisson_rdp_opacus", "two_phase_rdp")], ids=str)
def test_wider_orders_never_give_more(vector: dict[str, Any]) -> None:
    """Our orders contain the defaults of both libraries' useful range; the value is no larger and not far below."""
    inputs = vector["inputs"]
    ours = accountant_values(phases(inputs), inputs["delta"])["rdp"] if vector["name"] == "two_phase_rdp" else poisson(inputs)["rdp"]
    assert isinstance(ours, float)
    assert 0.8 * vector["value"] < ours <= vector["value"] * (1 + 1e-4)


def test_realised_batch_size_bound_covers_the_known_attack() -> None:
    attack = next(v for v in VECTORS if v["name"] == "realised_zero_out_attack")
    inputs = attack["inputs"]
    event = RealisedBatchSizeDpEvent(inputs["sample_rate"], inputs["noise_multiplier"])
    bound = proved_bound([Stage("a", event, "per_step", inputs["steps"], ("REPLACE_SPECIAL",))], inputs["delta"])
    assert bound.status == "proved"
    assert attack["value"] < bound.epsilon < 2 * attack["value"]


def test_replace_one_trap_is_closed() -> None:
    """dp-accounting's RDP leaves the sensitivity alone under REPLACE_ONE; all our accountants double it."""
    pld = next(v for v in VECTORS if v["name"] == "trap_pld")
    stages = [Stage("a", dp_event.GaussianDpEvent(1.0), "once", 1, ("REPLACE_ONE",))]
    values = accountant_values(stages, pld["inputs"]["delta"])
    assert values["gdp"] == pytest.approx(pld["value"], rel=1e-4)
    assert values["pld"] == pytest.approx(pld["value"], rel=1e-4)
    assert isinstance(values["rdp"], float)
    assert values["rdp"] > pld["value"]
    assert proved_bound(stages, 1e-5).epsilon == pytest.approx(gdp_epsilon(2.0, 1e-5))


def test_all_vectors_are_checked() -> None:
    elsewhere = {"poisson_rdp", "poisson_rdp_opacus", "two_phase_rdp", "realised_zero_out_attack", "realised_absent_attack"}
    elsewhere |= {"trap_rdp", "trap_pld", "shuffled_lower"}
    assert {v["name"] for v in VECTORS} == set(EXACT) | elsewhere


def test_shuffled_batches_cost_more_than_poisson() -> None:
    shuffled = next(v for v in VECTORS if v["name"] == "shuffled_lower")
    assert poisson(shuffled["inputs"])["pld"] < shuffled["value"] / 5


def test_values_print_as_in_the_notes() -> None:
    for vector in VECTORS:
        digits = len(vector["printed"].split(".")[1]) if "." in vector["printed"] else 0
        assert np.isclose(vector["value"], float(vector["printed"]), atol=1.001 * 10.0**-digits, rtol=0), vector


@pytest.mark.slow
def test_script_makes_the_file(tmp_path: Path) -> None:
    script = tmp_path / "make_vectors.py"
    script.write_text((Path(__file__).parents[1] / "make_vectors.py").read_text())
    subprocess.run([sys.executable, str(script)], check=True, capture_output=True)
    made = json.loads((tmp_path / "vectors.json").read_text())
    assert [(v["name"], v["inputs"], v["printed"]) for v in made] == [(v["name"], v["inputs"], v["printed"]) for v in VECTORS]
    np.testing.assert_allclose([v["value"] for v in made], [v["value"] for v in VECTORS], rtol=1e-6)
