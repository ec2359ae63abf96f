"""What selective pre-training comes to by the central limit: no paper claims it, and it is no bound."""

import math

from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.values import PrivacyValue


def claimed(*, rounds: int, vote_noise: float, sample_rate: float, steps: int, noise_multiplier: float, delta: float) -> PrivacyValue:
    """mu^2 = T / sigma_v^2 of the votes, exactly, and p^2 N (exp(1/sigma^2) - 1) of DP-SGD (Bu et al. 2020, Theorem 5)."""
    exponent = inverse_square(noise_multiplier)
    refinement = sample_rate * math.sqrt(steps * (math.expm1(exponent) if exponent < 700 else math.inf))
    return PrivacyValue(
        epsilon=gdp_epsilon(math.hypot(math.sqrt(rounds * inverse_square(vote_noise)), refinement), delta),
        delta=delta,
        status="approximation",
        accountant="GDP, central limit",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="Poisson in the refinement, all records in the votes",
        reason="A central-limit value is not a bound. No paper states it of this method.",
        source="Dong, Roth and Su 2022, Corollary 3.3, with Bu et al. 2020, Theorem 5",
    )
