"""Claims: the formulas, the table, and what stands beside every claim."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from workbench.errors import WorkbenchError
from workbench.privacy import claims
from workbench.privacy.accounting.bounds import accountant_values, proved_bound
from workbench.privacy.claims import CLAIMS, ClaimRow, TwoPhases, claims_markdown, claims_table
from workbench.serialization import dumps

METHODS_OF_OUR_NOTES = {
    "dp-promise", "chu-dpdm", "dp-sad", "dpgen", "p3dm", "ddm", "dpdm", "dp-sgd-dm", "dp-diffusion", "dp-ldm", "dp-merf", "dp-mepf",
    "dp-gan", "gs-wgan", "pate-gan", "g-pate", "datalens", "p3gm", "psg",
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> dict[str, ClaimRow]:
    return {row.method: row for row in claims_table()}


def test_every_method_has_a_row(rows: dict[str, ClaimRow]) -> None:
    assert set(CLAIMS) == set(rows) >= METHODS_OF_OUR_NOTES
    assert dumps(list(rows.values())).count('"method"') == len(CLAIMS)


def test_every_row_says_what_it_is(rows: dict[str, ClaimRow]) -> None:
    for row in rows.values():
        assert row.source
        assert row.bound.reason.endswith(".")
        assert 2 <= row.bound.reason.count(". ") + 1 <= 2, row.method
        assert row.bound.is_finite == (row.bound.status == "proved")
        assert row.claim.status == "not_evaluated" or (row.formula and row.setting and row.claim.is_finite)


def test_lessons(rows: dict[str, ClaimRow]) -> None:
    assert rows["dp-sad"].claim.epsilon == pytest.approx(10.04, abs=0.01)
    assert "340000 C in every coordinate" in rows["dp-sad"].setting
    assert rows["dp-sad-sound"].claim.epsilon > 1e12 * rows["dp-sad-sound"].bound.epsilon
    assert rows["chu-dpdm-printed"].bound.epsilon == math.inf
    assert "MI(X; M(X) + B) <= v + beta" in rows["p3dm"].formula
    assert rows["dp-promise"].claim.epsilon == pytest.approx(9.9408, abs=5e-5)
    assert rows["dp-promise"].bound.status == "refuted"
    assert rows["dp-promise-renoised"].bound.epsilon == pytest.approx(10.416, abs=5e-4)
    assert rows["dp-promise-renoised"].bound.neighboring_relation == "REPLACE_SPECIAL"
    assert rows["dpgen"].bound.status == "refuted"
    assert rows["chu-dpdm-batch"].bound.epsilon > 1000 * rows["chu-dpdm"].claim.epsilon
    assert rows["chu-dpdm"].bound.epsilon < rows["chu-dpdm"].claim.epsilon


def test_document_is_up_to_date() -> None:
    document = Path(__file__).parents[2] / "docs" / "claims.md"
    assert document.read_text() == claims_markdown(), "Run `workbench claims --markdown > docs/claims.md`."


@given(
    st.integers(1, 4000), st.integers(1000, 10**6), st.integers(300, 999), st.integers(1, 900), st.integers(0, 5000), st.floats(1e-4, 1),
    st.integers(0, 5000), st.floats(0.7, 30), st.sampled_from([1e-4, 1e-6]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_dp_promise_formula(d: int, n: int, boundary: int, m1: int, n1: int, q2: float, n2: int, sigma: float, delta: float) -> None:
    """Any image size, number of records, boundary, batch size, steps and noise, against the formula written out once more."""
    abar = math.prod(1 - 1e-4 - (2e-2 - 1e-4) * i / 999 for i in range(boundary))
    value = claims.dp_promise(
        num_dimensions=d, num_records=n, alphas_cumprod=abar, batch_size_1=m1, steps_1=n1,
        sample_rate_2=q2, steps_2=n2, noise_multiplier=sigma, delta=delta,
    )  # fmt: skip
    exponent = 4 * d * abar / (1 - abar)
    mu = math.hypot(m1 / n * math.sqrt(n1 * math.expm1(min(exponent, 600))), q2 * math.sqrt(n2 * math.expm1(sigma**-2)))
    assert value.status == "approximation"
    if mu < 30:
        assert value.epsilon == pytest.approx(epsilon_of_gdp(mu, delta), rel=1e-6, abs=1e-9)


def epsilon_of_gdp(mu: float, delta: float) -> float:
    """Epsilon of mu-GDP straight from its definition."""

    def excess(epsilon: float) -> float:
        lower = math.exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2))
        return float(norm.cdf(-epsilon / mu + mu / 2)) - lower - delta

    if mu == 0 or excess(0.0) <= 0:
        return 0.0
    return float(brentq(excess, 0.0, mu * mu / 2 + 8 * mu + 1, xtol=1e-14))


@pytest.mark.parametrize(("sigma", "printed"), [(1.13, 10.09), (7.0, 1.006)])
def test_printed_rate_and_steps_claim_more(sigma: float, printed: float) -> None:
    """4096/60000 and 50 n/m2 steps, as the paper prints them."""
    printed_terms = TwoPhases(sample_rate_2=4096 / 60_000, steps_2=math.ceil(50 * 60_000 / 4096), noise_multiplier=sigma).terms()
    assert claims.dp_promise(**printed_terms, delta=1e-5).epsilon == pytest.approx(printed, rel=5e-4)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("sigma", "target"), [(18.13, 1.0), (2.487, 10.0)])
def test_noise_of_the_published_dpdm(sigma: float, target: float) -> None:
    value = claims.dp_sgd(noise_multiplier=sigma, sample_rate=1 / 15, steps=4500, delta=1e-5, source="Dockhorn et al. 2023")
    assert value.epsilon == pytest.approx(target, rel=2e-4)


@given(st.integers(750, 990), st.floats(0.8, 8))
@settings(max_examples=5, deadline=None)
def test_bound_of_dp_promise_is_not_below_phase_two(boundary: int, sigma: float) -> None:
    setting = TwoPhases(boundary=boundary, noise_multiplier=sigma)
    phase_2 = accountant_values([setting.phase_2()], 1e-5)["pld"]
    assert proved_bound(setting.renoised_stages(), 1e-5).epsilon >= phase_2 - 1e-6  # pyright: ignore[reportOperatorIssue]
    unbounded = proved_bound(setting.paper_stages(), 1e-5)
    assert unbounded.epsilon == math.inf
    assert "regression target" in unbounded.reason


def test_chu_formula_is_the_minimum_over_orders() -> None:
    orders = np.geomspace(1.0001, 1e4, 200_000)
    sigma, steps, delta = 30.0, 500, 1e-5
    numeric = np.min(steps * orders / (2 * sigma**2) + math.log(1 / delta) / (orders - 1))
    assert claims.chu_dpdm(noise_multiplier=sigma, steps=steps, delta=delta).epsilon == pytest.approx(float(numeric), rel=1e-6)
    assert claims.chu_dpdm(noise_multiplier=sigma, steps=steps, delta=delta, per_record=False).status == "not_proved"


def test_dp_sad_noise_is_relative_to_the_clipping_norm() -> None:
    terms = {"vector_length": 100, "batch_size": 2, "steps": 10, "noise_multiplier": 80.0, "delta": 1e-5}
    assert claims.dp_sad(**terms, max_grad_norm=7.0).epsilon == pytest.approx(claims.dp_sad(**terms).epsilon)
    assert claims.dp_sad(**terms | {"noise_multiplier": 0.0}).epsilon == math.inf


def test_ddm_theorem_falls_with_records() -> None:
    def delta(s: int) -> float:
        return claims.ddm_theorem_1(
            epsilon=1.0, num_samples=1, num_columns=5, num_records=s,
            neighbour_counts=[1, 1], decays=[0.5, 1.0], ratios_before=[3.0, 2.0], errors=[0.0, 0.0],
        )  # fmt: skip

    assert delta(10_000) < delta(1000) < delta(10) == 1.0
    steps = (4 / 1000 * 5 / 1000**0.5 + 5 * (1 - 1 / 3) / 1000**2) + (4 / 1000 * 5 / 1000 + 5 * (1 - 1 / 2) / 1000**2)
    assert delta(1000) == pytest.approx(steps / (1 - math.exp(-1)), rel=1e-12)


def test_wrong_terms_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="alphas_cumprod"):
        claims.dp_promise_mu_1(1, 10, 1.0, 1, 1)
    with pytest.raises(WorkbenchError, match="noise multiplier"):
        claims.dp_merf(noise_multiplier=-1.0, delta=1e-5)
