"""What dp-promise claims: the central limit of both phases, by the paper's own formula."""

import math

from workbench.errors import WorkbenchError
from workbench.methods.base import Reading
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.values import PrivacyValue

FORMULA = (
    "mu = sqrt(mu1^2 + mu2^2), mu1 = (m1/n) sqrt(N1 (e^(4 d abar/(1-abar)) - 1)), mu2 = (m2/n) sqrt(N2 (e^(1/sigma^2) - 1)), "
    "abar that of time step S"
)
NOTATION = {
    "dimensions": "d",
    "num_records": "n",
    "boundary": "S",
    "phase_one.batch_size": "m1",
    "phase_one.steps": "N1",
    "phase_two.batch_size": "m2",
    "phase_two.steps": "N2",
    "phase_two.noise_multiplier": "sigma",
}
READINGS = {
    "dp-promise": Reading("dp-promise with the paper's regression targets", "published", FORMULA, NOTATION),
    "dp-promise-renoised": Reading("dp-promise with renoised targets", "published-renoised", FORMULA, NOTATION),
    "dp-promise-one-shot": Reading("dp-promise with one noised copy of every record", "published-one-shot", FORMULA, NOTATION),
}


def claimed(
    *,
    num_dimensions: int,
    num_records: int,
    alphas_cumprod: float,
    batch_size_1: int,
    steps_1: int,
    sample_rate_2: float,
    steps_2: int,
    noise_multiplier: float,
    delta: float,
) -> PrivacyValue:
    """Theorem 2: the central-limit GDP of both phases, converted to (epsilon, delta).

    `num_dimensions` d of an image in [-1, 1]^d; `alphas_cumprod` its value at the boundary S; m1 = batch_size_1,
    N1 = steps_1; sample_rate_2 = m2/n (or the realised rate), N2 = steps_2. mu = sqrt(mu_1^2 + mu_2^2) with
    mu_1 = (m1/n) sqrt(N1 (exp(4 d abar/(1-abar)) - 1)) and mu_2 = (m2/n) sqrt(N2 (exp(1/sigma^2) - 1)).
    """
    mu_1 = phase_one_mu(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1)
    mu_2 = sample_rate_2 * math.sqrt(steps_2 * _expm1(inverse_square(noise_multiplier))) if steps_2 * sample_rate_2 else 0.0
    return PrivacyValue(
        epsilon=gdp_epsilon(math.hypot(mu_1, mu_2), delta),
        delta=delta,
        status="approximation",
        accountant="GDP, central limit",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="Poisson, as printed",
        reason="A central-limit value is not a bound. Phase I is analysed as if only the noised image entered its gradient.",
        source="Wang et al. 2024 (dp-promise), Lemmas 4 and 5, Theorem 2",
    )


def claimed_phase_one(
    *, num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int, delta: float
) -> float:
    """Epsilon of the printed mu of phase I alone (Lemma 4)."""
    return gdp_epsilon(phase_one_mu(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1), delta)


def phase_one_mu(num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int) -> float:
    """The printed mu of phase I (Lemma 4); its distance is 2 sqrt(d abar/(1-abar)) of one image to another."""
    if not 0.0 <= alphas_cumprod < 1.0:
        raise WorkbenchError(f"Expected alphas_cumprod in [0, 1), got {alphas_cumprod}.")
    if batch_size_1 * steps_1 == 0:
        return 0.0
    distance = phase_one_distance(num_dimensions, alphas_cumprod)
    return batch_size_1 / num_records * math.sqrt(steps_1 * _expm1(distance**2))


def phase_one_distance(num_dimensions: int, alphas_cumprod: float) -> float:
    """mu = 2 sqrt(d abar/(1-abar)): the replace-one distance of a noised image of [-1, 1]^d in standard deviations."""
    return 2.0 * math.sqrt(num_dimensions * alphas_cumprod / (1.0 - alphas_cumprod))


def _expm1(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700 else math.inf
