"""The papers' own formulas as pure functions of public numbers; what they are worth stands beside them in the claims table."""

import math

from workbench.errors import WorkbenchError, check_delta
from workbench.privacy.accounting.values import PrivacyValue

SAD_LEAVES_OUT = "The teacher trained on all private records enters every gradient. The clipped part is not the whole gradient."
SAD_CHARGES = "The formula charges 4 s B times what a step costs, for every coordinate and every record of the batch. True and useless."


def dp_promise(
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
    """dp-promise, Theorem 2: the central-limit GDP of both phases, converted to (epsilon, delta).

    `num_dimensions` d of an image in [-1, 1]^d; `alphas_cumprod` its value at the boundary S; m1 = batch_size_1,
    N1 = steps_1; sample_rate_2 = m2/n (or the realised rate), N2 = steps_2. mu = sqrt(mu_1^2 + mu_2^2) with
    mu_1 = (m1/n) sqrt(N1 (exp(4 d abar/(1-abar)) - 1)) and mu_2 = (m2/n) sqrt(N2 (exp(1/sigma^2) - 1)).
    """
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    mu_1 = dp_promise_mu_1(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1)
    mu_2 = sample_rate_2 * math.sqrt(steps_2 * _expm1(_inverse_square(noise_multiplier))) if steps_2 * sample_rate_2 else 0.0
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


def dp_promise_phase_one(
    *, num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int, delta: float
) -> float:
    """Epsilon of the printed mu of phase I alone (dp-promise, Lemma 4)."""
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    return gdp_epsilon(dp_promise_mu_1(num_dimensions, num_records, alphas_cumprod, batch_size_1, steps_1), delta)


def dp_promise_mu_1(num_dimensions: int, num_records: int, alphas_cumprod: float, batch_size_1: int, steps_1: int) -> float:
    """The printed mu of phase I (dp-promise, Lemma 4); its distance is 2 sqrt(d abar/(1-abar)) of one image to another."""
    if not 0.0 <= alphas_cumprod < 1.0:
        raise WorkbenchError(f"Expected alphas_cumprod in [0, 1), got {alphas_cumprod}.")
    if batch_size_1 * steps_1 == 0:
        return 0.0
    distance = phase_1_distance(num_dimensions, alphas_cumprod)
    return batch_size_1 / num_records * math.sqrt(steps_1 * _expm1(distance**2))


def phase_1_distance(num_dimensions: int, alphas_cumprod: float) -> float:
    """mu = 2 sqrt(d abar/(1-abar)): the replace-one distance of a noised image of [-1, 1]^d in standard deviations."""
    return 2.0 * math.sqrt(num_dimensions * alphas_cumprod / (1.0 - alphas_cumprod))


def dp_merf(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """DP-MERF: one Gaussian mechanism on the mean embedding, noise over its replace-one sensitivity 2/n; exactly GDP."""
    return _gaussian_releases(noise_multiplier, 1, delta, "Harder et al. 2021 (DP-MERF), analytic Gaussian mechanism")


def dp_mepf(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """DP-MEPF: two Gaussian mechanisms, on the first and second moments of public features, each relative to 2/n."""
    return _gaussian_releases(noise_multiplier, 2, delta, "Harder et al. 2023 (DP-MEPF), analytic Gaussian mechanism")


def chu_dpdm(*, noise_multiplier: float, steps: int, delta: float, per_record: bool = True) -> PrivacyValue:
    """Chu et al.: (a, a/(2 sigma^2))-RDP a step over T steps, no amplification, and log(1/delta)/(a-1) to convert.

    The best order is 1 + sigma sqrt(2 log(1/delta)/T), which gives T/(2 sigma^2) + sqrt(2 T log(1/delta))/sigma. A bound
    where gradients are clipped `per_record`, as in the paper's proof; not where a batch is clipped, as in its Algorithm 1.
    """
    check_delta(delta)
    square = steps * _inverse_square(noise_multiplier)
    return PrivacyValue(
        epsilon=square / 2 + math.sqrt(2 * square * math.log(1 / delta)),
        delta=delta,
        status="proved" if per_record else "not_proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason="" if per_record else "The algorithm clips the mean gradient of a batch, the proof each record's. The claim is the proof's.",
        source="Chu et al. 2023 (DPDM), section IV.C",
    )


def dp_sad(
    *,
    vector_length: int,
    batch_size: int,
    steps: int,
    noise_multiplier: float,
    delta: float,
    max_grad_norm: float = 1.0,
    per_record: bool = False,
) -> PrivacyValue:
    """DP-SAD, Theorem 4: min over a > 1 of 2 C^2 s B N a/sigma^2 + log((a-1)/a) - (log delta + log a)/(a-1).

    `noise_multiplier` is that of eq. 15; the theorem's sigma is the noise's standard deviation, noise_multiplier times
    `max_grad_norm` C. `vector_length` s: number of parameters for eq. 15, of pixels for eq. 17. A bound, far above the truth,
    where the teacher is public and the whole gradient is clipped `per_record`; not as the paper trains.
    """
    from scipy.optimize import minimize_scalar

    check_delta(delta)
    sigma = noise_multiplier * max_grad_norm
    slope = 2 * max_grad_norm**2 * vector_length * batch_size * steps * _inverse_square(sigma)

    def epsilon(log_order: float) -> float:
        """At order a = 1 + e^x."""
        excess = math.exp(log_order)
        return slope * (1 + excess) + log_order - math.log1p(excess) - (math.log(delta) + math.log1p(excess)) / excess

    best = math.inf if math.isinf(slope) else float(minimize_scalar(epsilon, bounds=(-14.0, 14.0), method="bounded").fun)  # pyright: ignore[reportAttributeAccessIssue]
    return PrivacyValue(
        epsilon=max(0.0, best),
        delta=delta,
        status="proved" if per_record else "not_proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason=SAD_CHARGES if per_record else SAD_LEAVES_OUT,
        source="Liu et al. 2024 (DP-SAD), Theorem 4",
    )


def randomized_response(*, epsilon: float, source: str) -> PrivacyValue:
    """DPGEN and P3DM: the epsilon of k-ary randomised response over candidate neighbours, delta 0."""
    if epsilon < 0:
        raise WorkbenchError(f"Expected epsilon >= 0, got {epsilon}.")
    return PrivacyValue(
        epsilon=epsilon,
        delta=0.0,
        status="refuted",
        accountant="pure DP",
        neighboring_relation="REPLACE_ONE",
        reason="The index is randomised, but the response is a private record itself. Another data set cannot produce it.",
        source=source,
    )


def keep_probability(epsilon: float, num_candidates: int) -> float:
    """e^eps/(e^eps + k - 1): how often randomised response over k candidates keeps the true one."""
    return 1.0 / (1.0 + (num_candidates - 1) * math.exp(-epsilon))


def dp_sgd(*, noise_multiplier: float, sample_rate: float, steps: int, delta: float, source: str) -> PrivacyValue:
    """DPDM, DP-SGD DM, DP-Diffusion, DP-LDM: the RDP of Poisson-sampled Gaussian steps, an upper bound."""
    from dp_accounting import dp_event

    from workbench.privacy.accounting.accountants import rdp
    from workbench.privacy.accounting.accountants.mechanisms import mechanisms

    check_delta(delta)
    step = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
    composition = mechanisms(dp_event.SelfComposedDpEvent(step, steps), "ADD_OR_REMOVE_ONE")
    return PrivacyValue(
        epsilon=rdp.epsilon(composition, delta),
        delta=delta,
        status="proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="Poisson",
        source=source,
    )


def ddm_theorem_1(
    *,
    epsilon: float,
    num_samples: int,
    num_columns: int,
    num_records: int,
    neighbour_counts: list[int],
    decays: list[float],
    ratios_before: list[float],
    errors: list[float],
) -> float:
    """Wei et al. 2024, Theorem 1: delta of a record at `epsilon`, the undefined quantities given by the caller.

    For every t from max(T_rl, 1) to T: neighbour_counts N_{(1+c*_t) eta_t}(v*), decays psi_t, ratios_before Rb_{t-1} and
    errors, the term O(sqrt gamma_t + gamma~_t). m = num_samples, n = num_columns, s = num_records. The text we have does not
    define psi, eta and c*, so nothing of ours supplies them.
    """
    s, n = num_records, num_columns
    steps = zip(neighbour_counts, decays, ratios_before, errors, strict=True)
    total = sum(min(4 * count / s, 1.0) * n / s**psi + n * (1 - 1 / ratio) / s**2 + error for count, psi, ratio, error in steps)
    return min(1.0, num_samples * total / (epsilon * -math.expm1(-epsilon)))


def _gaussian_releases(noise_multiplier: float, releases: int, delta: float, source: str) -> PrivacyValue:
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    return PrivacyValue(
        epsilon=gdp_epsilon(math.sqrt(releases * _inverse_square(noise_multiplier)), delta),
        delta=delta,
        status="proved",
        accountant="GDP, exact",
        neighboring_relation="REPLACE_ONE",
        sampling="none",
        source=source,
    )


def _inverse_square(value: float) -> float:
    if not value >= 0:
        raise WorkbenchError(f"Expected a noise multiplier >= 0, got {value}.")
    return math.inf if value == 0 else (1 / value) * (1 / value)


def _expm1(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700 else math.inf
