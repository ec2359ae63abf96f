"""Formulas that several papers state; what one is worth is said beside each claim."""

import math

from workbench.errors import WorkbenchError, check_delta
from workbench.privacy.accounting.values import PrivacyValue


def gaussian_releases(noise_multiplier: float, releases: int, delta: float, source: str) -> PrivacyValue:
    """Gaussian mechanisms on all records, noise over their replace-one distance: exactly GDP, and a bound."""
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    return PrivacyValue(
        epsilon=gdp_epsilon(math.sqrt(releases * inverse_square(noise_multiplier)), delta),
        delta=delta,
        status="proved",
        accountant="GDP, exact",
        neighboring_relation="REPLACE_ONE",
        sampling="none",
        source=source,
    )


def poisson_gaussian_rdp(*, noise_multiplier: float, sample_rate: float, steps: int, delta: float, source: str) -> PrivacyValue:
    """The RDP of Poisson-sampled Gaussian steps, an upper bound: what papers that train by DP-SGD state."""
    from dp_accounting import dp_event

    from workbench.privacy.accounting.accountants import rdp
    from workbench.privacy.accounting.accountants.reading import mechanisms

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


def inverse_square(noise_multiplier: float) -> float:
    """1 / sigma^2, infinite at 0; refuses what is negative or no number."""
    if not noise_multiplier >= 0:
        raise WorkbenchError(f"Expected a noise multiplier >= 0, got {noise_multiplier}.")
    return math.inf if noise_multiplier == 0 else (1 / noise_multiplier) * (1 / noise_multiplier)
