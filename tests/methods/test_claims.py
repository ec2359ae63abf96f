"""The claims of the methods: each paper's formula against the formula written out once more, and the published releases."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm
from support.two_phases import TwoPhases

from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.methods.dp_merf import method as dp_merf_claim
from workbench.methods.dp_promise import phases as claim
from workbench.planning import make_plan
from workbench.privacy.accounting.bounds import accountant_values, proved_bound


@given(
    st.integers(1, 4000), st.integers(1000, 10**6), st.integers(300, 999), st.integers(1, 900), st.integers(0, 5000), st.floats(1e-4, 1),
    st.integers(0, 5000), st.floats(0.7, 30), st.sampled_from([1e-4, 1e-6]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_dp_promise_formula(d: int, n: int, boundary: int, m1: int, n1: int, q2: float, n2: int, sigma: float, delta: float) -> None:
    """Any image size, number of records, boundary, batch size, steps and noise, against the formula written out once more."""
    abar = math.prod(1 - 1e-4 - (2e-2 - 1e-4) * i / 999 for i in range(boundary))
    value = claim.claimed(
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
    assert claim.claimed(**printed_terms, delta=1e-5).epsilon == pytest.approx(printed, rel=5e-4)  # pyright: ignore[reportArgumentType]


@given(st.integers(750, 990), st.floats(0.8, 8))
@settings(max_examples=5, deadline=None)
def test_bound_of_dp_promise_is_not_below_phase_two(boundary: int, sigma: float) -> None:
    setting = TwoPhases(boundary=boundary, noise_multiplier=sigma)
    phase_2 = accountant_values([setting.phase_2()], 1e-5)["pld"]
    assert proved_bound(setting.renoised_stages(), 1e-5).epsilon >= phase_2 - 1e-6  # pyright: ignore[reportOperatorIssue]
    unbounded = proved_bound(setting.paper_stages(), 1e-5)
    assert unbounded.epsilon == math.inf
    assert "regression target" in unbounded.reason


@pytest.mark.parametrize("preset", ["published", "published-renoised"])
def test_published_releases_are_those_of_the_paper(preset: str) -> None:
    """Events, steps and relations of both phases on MNIST, against the numbers written down once more."""
    plan = make_plan("dp-promise", facts("mnist"), preset=preset)
    ours = [stage for stage in plan.stages if stage.spent != "free"]
    theirs = TwoPhases().paper_stages() if preset == "published" else TwoPhases().renoised_stages()
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.spent, mine.steps, mine.relations) == (other.spent, other.steps, other.relations)
        assert type(mine.event) is type(other.event)
    if preset == "published-renoised":
        assert proved_bound(ours, 1e-5).epsilon == pytest.approx(proved_bound(theirs, 1e-5).epsilon, rel=1e-12)


def test_wrong_terms_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="alphas_cumprod"):
        claim.phase_one_mu(1, 10, 1.0, 1, 1)
    with pytest.raises(WorkbenchError, match="noise multiplier"):
        dp_merf_claim.claimed(noise_multiplier=-1.0, delta=1e-5)
