"""Several records a person: the bound for groups of g records, from the group form of the event or the generic conversion."""

import math
from collections.abc import Sequence

from workbench.errors import RefusedError, WorkbenchError, check_delta
from workbench.privacy.accounting.accountants.mechanisms import Composition
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import composition_bound, proved_bound, shared_relation
from workbench.privacy.accounting.group_forms import GROUP_FORMS
from workbench.privacy.accounting.sampler import sampler_distance, sampler_epsilon
from workbench.privacy.accounting.stages import Relation, Stage, compose
from workbench.privacy.accounting.values import PrivacyValue

VACUOUS_EPSILON = 20.0  # beyond it a member of prior 1e-6 may be named with posterior above .99
BISECTIONS = 40


def group_bound(stages: Sequence[Stage], delta: float, group_size: int) -> PrivacyValue:
    """The proved bound for any group of `group_size` records at `delta`, under the relation of the single-record bound.

    Gaussian events have a group form (the distance times g; under Poisson sampling a binomial mixture of distances: Ganesh
    2024). Other compositions use the generic conversion of an (eps, delta') bound to
    (g eps, delta' (e^{g eps} - 1)/(e^eps - 1)), at the best delta'. A value beyond 20 is called vacuous in its reason.
    """
    check_delta(delta)
    if not (group_size >= 1 and float(group_size).is_integer()):
        raise WorkbenchError(f"Expected a whole group_size >= 1, got {group_size}.")
    single = proved_bound(stages, delta)
    if group_size == 1 or not single.is_finite:
        return single
    relation = shared_relation(stages)
    composition = mechanisms(compose(stages), relation)
    query = (composition, delta, relation, group_size, sampler_distance(stages))
    bound = _group_form(*query) or _group_conversion(*query)
    vacuous = " The bound is vacuous." if bound.epsilon > VACUOUS_EPSILON else ""
    return bound.model_copy(update={"sampling": single.sampling, "reason": bound.reason + vacuous})


def _group_form(composition: Composition, delta: float, relation: Relation, group_size: int, distance: float) -> PrivacyValue | None:
    if any(type(mechanism) not in GROUP_FORMS for mechanism in composition):
        return None
    group = {GROUP_FORMS[type(mechanism)](mechanism, group_size): count for mechanism, count in composition.items()}
    bound = composition_bound(group, delta, relation, distance)
    if not bound.is_finite:
        return None
    return bound.model_copy(update={"reason": f"For groups of {group_size} records, by the group form of the event."})


def _group_conversion(composition: Composition, delta: float, relation: Relation, group_size: int, distance: float) -> PrivacyValue:
    reason = f"For groups of {group_size} records, by the generic conversion of the bound for one."
    try:
        best = sampler_epsilon(lambda left: _converted_epsilon(composition, left, relation, group_size), delta, distance)
    except RefusedError as error:
        best, reason = math.inf, f"{reason} {error}"
    return PrivacyValue(
        epsilon=best,
        delta=delta,
        status="proved" if math.isfinite(best) else "not_proved",
        accountant="group conversion",
        neighboring_relation=relation,
        reason=reason,
    )


def _converted_epsilon(composition: Composition, delta: float, relation: Relation, group_size: int) -> float:
    """Bisection on log delta' for the largest one whose converted delta meets the target."""
    low, high, best = math.log(delta) - 600.0, math.log(delta), math.inf
    if math.exp(low) == 0.0:
        low = math.log(1e-300)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        epsilon = composition_bound(composition, math.exp(middle), relation).epsilon
        if middle + log_growth(epsilon, group_size) <= math.log(delta):
            low, best = middle, min(best, group_size * epsilon)
        else:
            high = middle
        if high - low < 1e-3:
            break
    return best


def log_growth(epsilon: float, group_size: int) -> float:
    """log((e^{g eps} - 1)/(e^eps - 1)); log g at eps = 0."""
    if math.isinf(epsilon):
        return math.inf
    if epsilon < 1e-12:
        return math.log(group_size)
    return (group_size - 1) * epsilon + math.log(-math.expm1(-group_size * epsilon)) - math.log(-math.expm1(-epsilon))
