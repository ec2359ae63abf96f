"""Formulas that several papers state; what one is worth is said beside each claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError, check_delta
from workbench.privacy.accounting.values import PrivacyValue

if TYPE_CHECKING:
    from dp_accounting import dp_event


OLDER_ORDERS = (*(1 + x / 10.0 for x in range(1, 100)), *range(12, 64))
TENSORFLOW_ORDERS = (1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 4.5, *range(5, 64), 128, 256, 512)  # of its older scripts


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

    step = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
    return composed_rdp([(step, steps)], delta, source)


def composed_rdp(
    parts: Sequence[tuple[dp_event.DpEvent, int]], delta: float, source: str, relation: str = "ADD_OR_REMOVE_ONE"
) -> PrivacyValue:
    """The RDP of Gaussian releases together, Poisson-sampled or not, each with how often it is made: an upper bound.

    The noise of each is in units of how far a record moves it under `relation`; a Poisson-sampled one is read as of a record more.
    """
    from dp_accounting import dp_event

    from workbench.privacy.accounting.accountants import rdp
    from workbench.privacy.accounting.accountants.reading import mechanisms

    check_delta(delta)
    counted: list[dp_event.DpEvent] = [dp_event.SelfComposedDpEvent(event, count) for event, count in parts]
    composition = mechanisms(dp_event.ComposedDpEvent(counted), "ADD_OR_REMOVE_ONE")
    return PrivacyValue(
        epsilon=rdp.epsilon(composition, delta),
        delta=delta,
        status="proved",
        accountant="RDP",
        neighboring_relation=relation,
        sampling="Poisson" if any(isinstance(event, dp_event.PoissonSampledDpEvent) for event, _ in parts) else "none",
        source=source,
    )


def older_rdp(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, source: str, orders: Sequence[float] = OLDER_ORDERS
) -> PrivacyValue:
    """The same by the conversion of libraries before 2022, min over a of rdp(a) + log(1/delta)/(a - 1): an upper bound, looser.

    `orders` are Opacus' own unless others are named: tenths from 1.1 to 10.9, and whole numbers from 12 to 63.
    """
    import numpy as np

    from workbench.privacy.accounting.accountants.moments import sampled_gaussian

    check_delta(delta)
    alphas = np.array(orders)
    whole = alphas * inverse_square(noise_multiplier) / 2
    curve = sampled_gaussian(sample_rate, noise_multiplier, alphas) if sample_rate < 1 else whole
    epsilon = float(np.min(steps * curve + math.log(1.0 / delta) / (alphas - 1.0)))
    return PrivacyValue(
        epsilon=epsilon,
        delta=delta,
        status="proved",
        accountant="RDP, older conversion",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="Poisson",
        source=source,
    )


def inverse_square(noise_multiplier: float) -> float:
    """1 / sigma^2, infinite at 0; refuses what is negative or no number."""
    if not noise_multiplier >= 0:
        raise WorkbenchError(f"Expected a noise multiplier >= 0, got {noise_multiplier}.")
    return math.inf if noise_multiplier == 0 else (1 / noise_multiplier) * (1 / noise_multiplier)
