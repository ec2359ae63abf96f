"""Make tests/vectors.json: the numbers of the theory notes, from dp-accounting, Opacus and closed formulas; workbench is not imported.

Run `python tests/make_vectors.py`. Every vector names its producer, its inputs, the value, and the digits printed in the notes.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant, common, pld_pmf, privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import RDPAccountant as OpacusAccountant
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

DELTA = 1e-5
POISSON_ROWS = [
    (0.001, 0.5, 1000, 1e-6, "0.976", "4.235", "5.33"),
    (0.01, 0.5, 100, 1e-6, "3.438", "7.916", "9.50"),
    (0.005, 0.8, 1000, 1e-6, "1.325", "2.004", "2.63"),
    (0.01, 1.0, 1000, 1e-6, "1.836", "2.125", "2.44"),
    (0.01, 2.0, 1000, 1e-6, "0.694", "0.721", "0.783"),
    (1 / 15, 1.13, 750, 1e-5, "9.937", "10.41", "11.343"),
    (1 / 15, 7.0, 750, 1e-5, "0.976", "0.985", "1.078"),
    (4096 / 60000, 0.5, 750, 1e-5, "151.2", "68.8", "89.4"),
]
TWO_PHASE_ROWS = [
    (800, "4.735", "6.978", "10.934", "13.33", "4.835", "7.081"),
    (850, ".627", "1.817", "10.440", None, "1.152", None),
    (900, ".1974", ".5635", "10.416", "11.355", "1.0124", "1.1397"),
    (950, ".0938", ".2175", "10.412", "11.347", ".9919", "1.0989"),
]
RESPONSES = [(64, 1, ".041"), (64, 5, ".702"), (64, 10, ".997"), (256, 1, ".0105"), (256, 5, ".368"), (256, 10, ".9886")]


def gdp_delta(mu: float, epsilon: float) -> float:
    """The profile of mu-GDP."""
    return float(norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Its inverse."""
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1
    if high > 600:  # e^eps overflows: compare logarithms
        return float(brentq(lambda e: _log_gdp_delta(mu, e) - math.log(delta), 0, high))
    return float(brentq(lambda e: gdp_delta(mu, e) - delta, 0, high))


def _log_gdp_delta(mu: float, epsilon: float) -> float:
    upper, lower = norm.logcdf(-epsilon / mu + mu / 2), epsilon + norm.logcdf(-epsilon / mu - mu / 2)
    return float(upper + math.log(-math.expm1(lower - upper)))


def poisson(q: float, sigma: float, steps: int) -> SelfComposedDpEvent:
    """DP-SGD as an event."""
    return SelfComposedDpEvent(PoissonSampledDpEvent(q, GaussianDpEvent(sigma)), steps)


def pld_epsilon(
    event: Any, delta: float, relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE, interval: float = 1e-4
) -> float:
    """dp-accounting's pessimistic PLD."""
    return float(PLDAccountant(relation, interval).compose(event).get_epsilon(delta))


def rdp_epsilon(event: Any, delta: float, relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE) -> float:
    """dp-accounting's RDP at its default orders."""
    return float(RdpAccountant(None, relation).compose(event).get_epsilon(delta))


def opacus_rdp(q: float, sigma: float, steps: int, delta: float) -> float:
    """Opacus's RDP at its own orders."""
    accountant = OpacusAccountant()
    accountant.history = [(sigma, q, steps)]
    return float(accountant.get_epsilon(delta))


def alphas_cumprod(t: int) -> float:
    """Linear betas 1e-4..2e-2 over 1000 steps."""
    return float(np.prod(1 - np.linspace(1e-4, 2e-2, 1000)[:t]))


def phase_1_mu(boundary: int) -> float:
    """The replace-one distance of a noised 28x28 image."""
    abar = alphas_cumprod(boundary)
    return 2 * math.sqrt(784 * abar / (1 - abar))


def profile_pld(profile: Any, reach: float, interval: float = 1e-4) -> privacy_loss_distribution.PrivacyLossDistribution:
    """A symmetric PLD from delta(eps), eps >= 0, by connecting the dots."""
    last = math.ceil(reach / interval)
    positive = np.array([profile(e) for e in np.arange(last + 1) * interval])
    grid = np.arange(last, 0, -1) * interval
    negative = -np.expm1(-grid) + np.exp(-grid) * positive[:0:-1]
    deltas = np.minimum.accumulate(np.clip(np.concatenate([negative, positive]), 0, 1))
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -last, last, deltas)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def fixed_batch_pld(boundary: int) -> privacy_loss_distribution.PrivacyLossDistribution:
    """Phase I of dp-promise on renoised targets: n=60000, m1=32, 5625 steps, replace-one."""
    g, mu = 32 / 60000, phase_1_mu(boundary)
    reach = math.log1p(g * math.expm1(mu * mu / 2 + 9 * mu))
    return profile_pld(lambda e: g * gdp_delta(mu, math.log1p(math.expm1(e) / g)), reach).self_compose(5625)


def phase_2_pld(sigma: float) -> privacy_loss_distribution.PrivacyLossDistribution:
    """Phase II of dp-promise on MNIST."""
    return privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=1 / 15).self_compose(750)


def two_phase_rdp(boundary: int, sigma: float | None) -> float:
    """RDP of phase I (replace-one, without replacement) plus phase II (zero-out), order by order."""
    first = RdpAccountant(None, NeighboringRelation.REPLACE_ONE)
    first.compose(SampledWithoutReplacementDpEvent(60000, 32, GaussianDpEvent(1 / phase_1_mu(boundary))), 5625)
    if sigma is None:
        return float(first.get_epsilon(DELTA))
    second = RdpAccountant(None, NeighboringRelation.REPLACE_SPECIAL).compose(poisson(1 / 15, sigma, 750))
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    return float(compute_epsilon(first.orders, first.rdp + second.rdp, DELTA)[0])


def without_replacement_clt(mu: float, rate: float, steps: int) -> float:
    """mu of the central limit without replacement, replace-one."""
    growth = math.exp(mu * mu) * norm.cdf(1.5 * mu) + 3 * norm.cdf(-0.5 * mu) - 2
    return float(math.sqrt(2) * rate * math.sqrt(steps * growth))


def shuffled_epsilon(steps: int, sigma: float, delta: float) -> float:
    """Lower bound for shuffled batches (Chua et al. 2024): the set {max of the coordinates > c}, means 2 e_t against e_t."""

    def excess(epsilon: float) -> float:
        c = np.linspace(0, 12, 200001)
        others = (steps - 1) * norm.logcdf(c / sigma)
        p = -np.expm1(norm.logcdf((c - 2) / sigma) + others)
        q = -np.expm1(norm.logcdf((c - 1) / sigma) + others)
        return float(np.max(p - math.exp(epsilon) * q)) - delta

    return float(brentq(excess, 0.1, 30))


def realised_zero_out(q: float, sigma: float, steps: int, delta: float) -> float:
    """Division by |I| at its mean, others -Cu, target +Cu against null: (1-q) N(0) + q N(2) against (1-q) N(0) + q N(1)."""
    x = np.linspace(-14 * sigma, 2 + 14 * sigma, 400001)
    log_p = np.logaddexp(math.log1p(-q), math.log(q) + (2 * x - 2) / sigma**2)
    log_q = np.logaddexp(math.log1p(-q), math.log(q) + (x - 0.5) / sigma**2)
    weight = norm.pdf(x, scale=sigma) * (x[1] - x[0])
    epsilons = []
    for upper, lower in ((log_p, log_q), (log_q, log_p)):
        loss = np.rint((upper - lower) / 1e-4).astype(int)
        mass = np.bincount(loss - loss.min(), weights=weight * np.exp(upper))
        start, composed = common.self_convolve(list(mass / mass.sum()), steps, 1e-15)
        losses = (np.arange(len(composed)) + start + loss.min() * steps) * 1e-4
        tail = np.array(composed)
        epsilons.append(brentq(lambda e, t=tail, v=losses: float(np.sum(t[v > e] * -np.expm1(e - v[v > e]))) - delta, 0, 300))
    return float(max(epsilons))


def dp_sad_epsilon(sigma: float) -> float:
    """DP-SAD's Theorem 4 at s = 1.62e6, B = 64, N = 1000, C = 1."""
    slope = 2 * 1.62e6 * 64 * 1000 / sigma**2
    best = minimize_scalar(
        lambda a: slope * a + math.log((a - 1) / a) - (math.log(DELTA) + math.log(a)) / (a - 1), bounds=(1.01, 200), method="bounded"
    )
    return float(best.fun)


def kl_of_response(k: int, epsilon: float) -> float:
    """The chance that randomised response keeps the true index."""
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1)


def vectors() -> list[dict[str, Any]]:
    """All vectors in the order of the notes."""
    return [*accountant_vectors(), *claim_vectors(), *two_phase_vectors(), *other_vectors()]


def vector(name: str, section: str, producer: str, value: float, printed: str, **inputs: Any) -> dict[str, Any]:
    """One entry; the value must print as the notes have it (`at_least`: as the notes' digits cut off)."""
    unit = 10.0 ** -(len(printed.split(".")[1]) if "." in printed else 0)
    centre = float(printed) + (unit / 2 if inputs.pop("at_least", False) else 0.0)
    if abs(value - centre) > 0.50005 * unit:
        raise ValueError(f"{name} {inputs}: expected {printed}, made {value}.")
    return {"name": name, "section": section, "producer": producer, "inputs": inputs, "value": value, "printed": printed}


def accountant_vectors() -> list[dict[str, Any]]:
    """Section 1.1."""
    made = []
    for q, sigma, steps, delta, clt, pld, rdp in POISSON_ROWS:
        inputs = {"sample_rate": q, "noise_multiplier": sigma, "steps": steps, "delta": delta}
        mu = q * math.sqrt(steps * math.expm1(sigma**-2))
        made.append(vector("poisson_gdp", "1.1", "formula", gdp_epsilon(mu, delta), clt, **inputs))
        made.append(vector("poisson_pld", "1.1", "dp-accounting PLD 1e-4", pld_epsilon(poisson(q, sigma, steps), delta), pld, **inputs))
        made.append(vector("poisson_rdp", "1.1", "dp-accounting RDP", rdp_epsilon(poisson(q, sigma, steps), delta), rdp, **inputs))
    mnist = {"sample_rate": 1 / 15, "noise_multiplier": 1.13, "steps": 750, "delta": DELTA}
    made.append(vector("poisson_rdp_opacus", "1.1", "Opacus RDP", opacus_rdp(1 / 15, 1.13, 750, DELTA), "11.332", **mnist))
    long = {"sample_rate": 1e-4, "noise_multiplier": 0.5, "steps": 10000, "delta": 1e-6}
    made.append(vector("poisson_pld", "1.1", "dp-accounting PLD 1e-4", pld_epsilon(poisson(1e-4, 0.5, 10000), 1e-6), "1.95", **long))
    made.append(vector("shuffled_lower", "1.1", "formula", shuffled_epsilon(10000, 0.5, 1e-6), "10.994", at_least=True, **long))
    realised = realised_zero_out(1 / 15, 1.13, 750, DELTA)
    made.append(vector("realised_zero_out_attack", "1.1", "numerical PLD 1e-4", realised, "28.1", **mnist))
    absent = pld_epsilon(poisson(1 / 15, 1.13 / 2, 750), DELTA)
    made.append(vector("realised_absent_attack", "1.1", "dp-accounting PLD 1e-4", absent, "48.4", **mnist))
    replace = NeighboringRelation.REPLACE_ONE
    trap = {"noise_multiplier": 1.0, "delta": DELTA}
    made.append(vector("trap_rdp", "1.1", "dp-accounting RDP", rdp_epsilon(GaussianDpEvent(1.0), DELTA, replace), "4.73", **trap))
    made.append(vector("trap_pld", "1.1", "dp-accounting PLD 1e-4", pld_epsilon(GaussianDpEvent(1.0), DELTA, replace), "10.00", **trap))
    return made


def claim_vectors() -> list[dict[str, Any]]:
    """Section 2.1 and 2.2(a)."""
    mu = phase_1_mu(900)
    printed = 32 / 60000 * math.sqrt(5625 * math.expm1(mu * mu))
    fitting = without_replacement_clt(mu, 32 / 60000, 5625)
    s900 = {"boundary": 900, "num_dimensions": 784}
    phase = {**s900, "num_records": 60000, "batch_size_1": 32, "steps_1": 5625}
    made = [
        {**vector("alphas_cumprod", "2.1", "formula", alphas_cumprod(900) * 1e4, "2.752", boundary=900), "scale": 1e4},
        vector("phase_1_distance", "2.1", "formula", mu, "0.92913", **s900),
        vector("phase_1_mu", "2.1", "formula", printed, "0.046835", **phase),
        vector("phase_1_claim", "2.2", "formula", gdp_epsilon(printed, DELTA), ".1490", delta=DELTA, **phase),
        vector("phase_1_clt_mu", "2.2", "formula", fitting, ".0604", **phase),
        vector("phase_1_clt", "2.2", "formula", gdp_epsilon(fitting, DELTA), ".1967", delta=DELTA, **phase),
    ]
    for sigma, digits in ((1.13, "9.9408"), (7.0, "0.99286")):
        total = math.hypot(printed, math.sqrt(750 * math.expm1(sigma**-2)) / 15)
        inputs = {**phase, "sample_rate_2": 1 / 15, "steps_2": 750, "noise_multiplier": sigma, "delta": DELTA}
        made.append(vector("dp_promise_claim", "2.1", "formula", gdp_epsilon(total, DELTA), digits, **inputs))
    return made


def two_phase_vectors() -> list[dict[str, Any]]:
    """The table of section 2.2(b), visible inclusion, and the one-shot form of 2.3."""
    made = []
    second = {sigma: phase_2_pld(sigma) for sigma in (1.13, 7.0)}
    for boundary, pld_1, rdp_1, pld_a, rdp_a, pld_b, rdp_b in TWO_PHASE_ROWS:
        first = fixed_batch_pld(boundary)
        where = {"boundary": boundary, "delta": DELTA}
        made.append(vector("phase_1_pld", "2.2", "dp-accounting PLD 1e-4", first.get_epsilon_for_delta(DELTA), pld_1, **where))
        made.append(vector("phase_1_rdp", "2.2", "dp-accounting RDP", two_phase_rdp(boundary, None), rdp_1, **where))
        for sigma, pld, rdp in ((1.13, pld_a, rdp_a), (7.0, pld_b, rdp_b)):
            inputs = {**where, "noise_multiplier": sigma}
            total = first.compose(second[sigma]).get_epsilon_for_delta(DELTA)
            made.append(vector("two_phase_pld", "2.2", "dp-accounting PLD 1e-4", total, pld, **inputs))
            if rdp is not None:
                made.append(vector("two_phase_rdp", "2.2", "dp-accounting RDP", two_phase_rdp(boundary, sigma), rdp, **inputs))
    g, mu = 32 / 60000, phase_1_mu(900)
    visible = profile_pld(lambda e: g * gdp_delta(mu, e), mu * mu / 2 + 8 * mu).self_compose(5625).get_epsilon_for_delta(DELTA)
    made.append(vector("visible_inclusion", "2.2", "dp-accounting PLD 1e-4", visible, "11.93", boundary=900, delta=DELTA))
    made.append(vector("one_shot_zero_out", "2.3", "formula", gdp_epsilon(mu / 2, DELTA), "1.836", boundary=900, delta=DELTA))
    made.append(vector("one_shot_replace_one", "2.3", "formula", gdp_epsilon(mu, DELTA), "4.021", boundary=900, delta=DELTA))
    return made


def other_vectors() -> list[dict[str, Any]]:
    """Sections 2.3 to 5."""
    made = []
    for t, digits in ((901, ".134"), (1000, ".924")):
        r = alphas_cumprod(t) / alphas_cumprod(900)
        made.append(
            vector("renoised_factor", "2.3", "formula", math.sqrt((1 - r) / (1 - alphas_cumprod(t))), digits, boundary=900, timestep=t)
        )
    sad = {"vector_length": 1_620_000, "batch_size": 64, "steps": 1000, "noise_multiplier": 3.4e5, "delta": DELTA}
    made.append(vector("dp_sad_claim", "4", "formula", dp_sad_epsilon(3.4e5), "10", **sad))
    for k, epsilon, digits in RESPONSES:
        made.append(vector("keep_probability", "5", "formula", kl_of_response(k, epsilon), digits, num_candidates=k, epsilon=epsilon))
    return made


if __name__ == "__main__":
    path = Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps(vectors(), indent=1) + "\n")
    print(path)
