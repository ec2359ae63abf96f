"""The price in delta of noise that is drawn from almost, not exactly, the law of its event."""

import math
from collections.abc import Callable, Sequence

from workbench.errors import RefusedError
from workbench.privacy.stages import Stage

ROUNDS = 60
MARGIN = 1e-4  # of epsilon, allowed for in the price before it is known; what is returned is computed with it


def sampler_distance(stages: Sequence[Stage]) -> float:
    """Total variation distance of everything drawn by `stages` from the law of their composed event, rounded up."""
    total = math.fsum(stage.sampler_distance for stage in stages if stage.spent != "free")
    return math.nextafter(total, math.inf) if total > 0 else 0.0


def priced(epsilon: Callable[[float], float], delta: float, distance: float) -> float:
    """Epsilon at `delta` of a release within total variation `distance` of one with profile `epsilon(delta)`.

    The real release is (eps, delta' + (1 + e^eps) distance)-DP where the ideal one is (eps, delta')-DP: the distance is paid once
    on each side. The least fixed point of eps = epsilon(delta - (1 + e^eps) distance) is approached from below; what is
    returned satisfies delta' + (1 + e^eps) distance <= delta. Raises RefusedError where the price leaves nothing of delta.
    """
    if distance == 0.0:
        return epsilon(delta)
    guess = 0.0
    for _ in range(ROUNDS):
        left = delta - (1.0 + math.exp(min(guess, 700.0))) * distance * (1 + 1e-12)
        if not left > 0.0:
            break
        value = epsilon(left)
        if value <= guess or math.isinf(value):
            return value
        guess = value * (1 + MARGIN)
    raise RefusedError(
        f"The noise is drawn within total variation distance {distance:.3g} of its exact law, and no finite epsilon leaves anything of "
        f"delta {delta:g} after the price (1 + e^epsilon) {distance:.3g}. Expected a finer grid of the noise, or a larger delta."
    )
