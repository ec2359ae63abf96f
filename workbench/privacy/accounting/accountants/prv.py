"""PRV's certified bracket from Opacus, a cross-check of the PLD accountant. Imported when called: it needs torch."""

import math
from dataclasses import dataclass

from workbench.errors import RefusedError, WorkbenchError, check_delta


@dataclass(frozen=True)
class Bracket:
    """lower <= epsilon <= upper of the record-removed direction, which is the larger one here; `estimate` lies between."""

    lower: float
    estimate: float
    upper: float


def prv_bracket(noise_multiplier: float, sample_rate: float, steps: int, delta: float, eps_error: float = 0.01) -> Bracket:
    """Bracket of the Poisson-sampled Gaussian's epsilon, add/remove, about `eps_error` wide on either side.

    Zero steps give 0, zero noise infinity. Refuses delta below 1e-10 and what the library's quadrature can't do.
    Source: Gopi, Lee and Wutschitz (2021).
    """
    check_delta(delta)
    if not (noise_multiplier >= 0 and 0 <= sample_rate <= 1 and steps >= 0):
        raise WorkbenchError(
            f"Expected noise_multiplier >= 0, sample_rate in [0, 1] and steps >= 0, got {noise_multiplier}, {sample_rate}, {steps}."
        )
    if steps == 0 or sample_rate == 0:
        return Bracket(0.0, 0.0, 0.0)
    if noise_multiplier == 0:
        return Bracket(math.inf, math.inf, math.inf)
    if delta < 1e-10:
        raise RefusedError(f"The PRV accountant is limited by rounding to delta >= 1e-10, got {delta:g}.")
    return _bracket(noise_multiplier, sample_rate, steps, delta, eps_error)


def _bracket(noise_multiplier: float, sample_rate: float, steps: int, delta: float, eps_error: float) -> Bracket:
    import warnings

    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(noise_multiplier, min(sample_rate, 1 - 1e-12), steps)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            distribution = accountant._get_dprv(eps_error=eps_error, delta_error=delta / 1000)  # pyright: ignore[reportPrivateUsage]
            lower, estimate, upper = distribution.compute_epsilon(delta, delta / 1000, eps_error)
    except (ValueError, RuntimeError, OverflowError, ZeroDivisionError, FloatingPointError, MemoryError) as error:
        raise RefusedError(f"Opacus's PRV accountant gives no bracket here: {error}.") from error
    return Bracket(max(0.0, float(lower)), max(0.0, float(estimate)), float(upper))
