"""The price in delta of noise that is drawn from almost, not exactly, the law of its event."""

import math
from collections.abc import Callable, Sequence

from workbench.errors import RefusedError
from workbench.privacy.accounting.stages import Stage

ROUNDS = 60
LARGEST_EXPONENT = 700.0  # e to this is a number yet
MARGIN = 1e-4  # of epsilon, allowed for in the price before it is known; what is returned is computed with it


def sampler_distance(stages: Sequence[Stage]) -> float:
    """Total variation distance of everything drawn by `stages` from the law of their composed event, rounded up."""
    total = math.fsum(stage.sampler_distance for stage in stages if stage.spent != "free")
    return math.nextafter(total, math.inf) if total > 0 else 0.0


def price(epsilon: float, distance: float) -> float:
    """What a total variation `distance` adds to the delta of an (epsilon, delta)-DP release: paid once on each side, rounded up."""
    return (1.0 + math.exp(min(epsilon, LARGEST_EXPONENT))) * distance * (1 + 1e-12)


def check_affordable(epsilon: float, delta: float, distance: float) -> None:
    """Refuse an epsilon whose price alone takes all of `delta`, so that nothing could be proved to meet it."""
    if price(0.0, distance) >= delta:
        raise RefusedError(
            f"Expected a delta above {price(0.0, distance):.3g}, got {delta:g}: the noise is drawn within total variation distance "
            f"{distance:.3g} of its exact law, and that costs as much at any epsilon. Give a larger delta."
        )
    if (paid := price(epsilon, distance)) >= delta:
        raise RefusedError(
            f"Expected a target epsilon below {math.log(delta / distance - 1.0):.4g}, got {epsilon:g}: the noise is drawn within total "
            f"variation distance {distance:.3g} of its exact law, and the price (1 + e^epsilon) {distance:.3g} = {paid:.3g} takes all "
            f"of delta {delta:g}. Give a smaller epsilon or a larger delta."
        )


def sampler_epsilon(epsilon: Callable[[float], float], delta: float, distance: float) -> float:
    """Epsilon at `delta` of a release within total variation `distance` of one with profile `epsilon(delta)`.

    The real release is (eps, delta' + (1 + e^eps) distance)-DP where the ideal one is (eps, delta')-DP: the distance is paid once
    on each side. The least fixed point of eps = epsilon(delta - (1 + e^eps) distance) is approached from below; what is
    returned satisfies delta' + (1 + e^eps) distance <= delta. Raises RefusedError where the price leaves nothing of delta.
    """
    if distance == 0.0:
        return epsilon(delta)
    guess = 0.0
    for _ in range(ROUNDS):
        left = delta - price(guess, distance)
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
