"""Privacy filters: what a budget has room for where runs have ended before all that they might have spent."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.privacy.spending.totals import LedgerEntry, zero_out_stage

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage


SHARES = (0.4, 0.55, 0.75, 1.0)  # of the highest order less one


def passes_filter(entries: Sequence[LedgerEntry], new: "Sequence[tuple[str, list[Stage]]]", epsilon: float, delta: float) -> bool:
    """Whether `new` keeps an account within (`epsilon`, `delta`) where runs that ended early count with the steps that they took alone.

    Why somebody ended a run may rest on what it had made, so that no composition of steps fixed in advance bounds it. The divergence of
    one Renyi order does, added up over what was taken, as long as nothing begins that could exceed the limit (Feldman and Zrnic 2021).
    `orders_for` the budget alone are four such orders, each at a quarter of delta: any one that is within the limit will do, as what was
    drawn on the way to it is drawn alike by the filter of that order. What was accepted by composition alone has a delta of its own, so
    that the promise of a budget that gave something back is (`epsilon`, 2 `delta`). False where none ended early, and where no
    divergence is known.
    """
    if not any(entry.ended_early for entry in entries):
        return False
    taken = [stage for entry in entries for stage in entry.taken_stages()]
    stages, orders = [*taken, *(stage for _, planned in new for stage in planned)], orders_for(epsilon, delta)
    return any(epsilon_at_order(stages, order, delta / len(orders)) <= epsilon for order in orders)


def orders_for(epsilon: float, delta: float) -> list[float]:
    """Renyi orders for a budget: the highest has most room for Gaussian noise (rho a + log(1/delta)/(a - 1) is least), and below it some
    for noise on samples, whose divergence leaps up at some order.
    """
    log = -math.log(delta)
    highest = math.sqrt(log) / (math.sqrt(log + epsilon) - math.sqrt(log))
    return [1.0 + share * highest for share in SHARES]


def epsilon_at_order(stages: "Sequence[Stage]", order: float, delta: float) -> float:
    """Epsilon at `delta` of stages together by their divergence of one order, zero-out relation; infinite where that is not known."""
    from workbench.errors import RefusedError
    from workbench.privacy.accounting.accountants import rdp
    from workbench.privacy.accounting.accountants.reading import mechanisms
    from workbench.privacy.accounting.bounds import first_unproved_leaf
    from workbench.privacy.accounting.sampler import sampler_distance, sampler_epsilon
    from workbench.privacy.accounting.stages import compose

    zeroed = [zero_out_stage(stage) for stage in stages]
    known = [stage for stage in zeroed if stage is not None]
    if len(known) < len(zeroed) or first_unproved_leaf(compose(known)) is not None:
        return math.inf
    try:
        composition = mechanisms(compose(known), "REPLACE_SPECIAL")
        return sampler_epsilon(lambda left: rdp.epsilon_at(composition, left, order), delta, sampler_distance(known))
    except RefusedError:
        return math.inf
