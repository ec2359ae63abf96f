"""The proved bound of a composition: the smallest proved value, under the one relation that all its parts share."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dp_accounting import dp_event

from workbench.errors import RefusedError, check_delta
from workbench.privacy.accounting import events as own
from workbench.privacy.accounting.accountants import ACCOUNTANTS, Accountant
from workbench.privacy.accounting.accountants.mechanisms import Composition, Mechanism
from workbench.privacy.accounting.accountants.reading import leaves, mechanisms
from workbench.privacy.accounting.sampler import sampler_distance, sampler_epsilon
from workbench.privacy.accounting.stages import Relation, Stage, compose
from workbench.privacy.accounting.values import PrivacyValue, Status

Refusal = dict[str, str]
NOTHING = "Nothing private is released."


def shared_relation(stages: Sequence[Stage]) -> Relation:
    """The relation a composition is stated under: the first of its first paid stage's relations that every paid stage has.

    Methods name REPLACE_SPECIAL first, which all of them have.
    Raises RefusedError where the stages share none.
    """
    paid = [stage for stage in stages if stage.spent != "free"]
    if not paid:
        return "REPLACE_SPECIAL"
    for relation in paid[0].relations:
        if all(relation in stage.relations for stage in paid):
            return relation
    listed = "; ".join(f"{stage.name}: {', '.join(stage.relations) or 'none'}" for stage in paid)
    raise RefusedError(f"The stages share no neighboring relation ({listed}), and no proof composes different ones.")


def accountant_values(stages: Sequence[Stage], delta: float) -> dict[str, float | Refusal]:
    """Epsilon at `delta` by every accountant of ACCOUNTANTS, or `{"refused": reason}` where it knows no proof or limit."""
    check_delta(delta)
    unproved = first_unproved_leaf(compose(stages))
    if unproved is not None:
        return {name: {"refused": unproved.reason} for name in ACCOUNTANTS}
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
    except RefusedError as error:
        return {name: {"refused": str(error)} for name in ACCOUNTANTS}
    return composition_values(composition, delta, sampler_distance(stages))


def composition_values(composition: Composition, delta: float, distance: float = 0.0) -> dict[str, float | Refusal]:
    """`accountant_values` of mechanisms already read under one relation, drawn within `distance` of their exact law."""
    return dict(_values(tuple(composition.items()), delta, distance))


@lru_cache(maxsize=4096)
def _values(parts: tuple[tuple[Mechanism, int], ...], delta: float, distance: float) -> dict[str, float | Refusal]:
    """Kept, as a plan asks for the values of its last composition in calibration, for its bound and for each accountant."""
    return {name: _value_or_refusal(accountant, dict(parts), delta, distance) for name, accountant in ACCOUNTANTS.items()}


def proved_bound(stages: Sequence[Stage], delta: float) -> PrivacyValue:
    """The smallest proved epsilon of all stages together at `delta`, with what it holds under; infinite with its reason."""
    check_delta(delta)
    sampling = "; ".join(dict.fromkeys(stage.sampling for stage in stages if stage.spent != "free" and stage.sampling))
    try:
        relation = shared_relation(stages)
    except RefusedError as error:
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_proved", sampling=sampling, reason=str(error))
    bound = event_bound(compose(stages), delta, relation, sampler_distance(stages))
    paid = [stage for stage in stages if stage.spent != "free"]
    relevant = paid if bound.is_finite else [stage for stage in paid if not _is_finite(stage, relation)]
    reason = " ".join(filter(None, dict.fromkeys([bound.reason, *(stage.reason for stage in relevant)])))
    return bound.model_copy(update={"sampling": sampling, "reason": reason})


def replace_one_bound(stages: Sequence[Stage], delta: float) -> PrivacyValue | None:
    """The proved bound under REPLACE_ONE of one run's stages, where every paid one has one that is finite; None elsewhere."""
    paid = [stage for stage in stages if stage.spent != "free"]
    if not paid or not all("REPLACE_ONE" in stage.relations for stage in paid):
        return None
    bound = proved_bound([replace(stage, relations=("REPLACE_ONE",)) for stage in _joined_stages(paid)], delta)
    return bound if bound.is_finite else None


def _joined_stages(stages: Sequence[Stage]) -> list[Stage]:
    """The stages of one run, those that are parts of one release as a single stage at the distance of all parts together."""
    by_run: dict[object, list[Stage]] = {}
    for place, stage in enumerate(stages):
        part = stage.event if isinstance(stage.event, own.PartOfGaussianDpEvent) and stage.steps == 1 else None
        by_run.setdefault(place if part is None else (part.together, part.joint_noise_multiplier), []).append(stage)
    return [merged for parts in by_run.values() for merged in _as_one(parts)]


def _as_one(parts: Sequence[Stage]) -> Sequence[Stage]:
    """Some parts of one release as one stage; as they are where they are more than the release has."""
    event = parts[0].event
    if not isinstance(event, own.PartOfGaussianDpEvent) or len(parts) > len(event.together):
        return parts
    whole = own.ReplaceOneGaussianDpEvent(event.joint_noise_multiplier, zero_out_ratio=1.0)
    reason = " ".join(dict.fromkeys(part.reason for part in parts))
    return [replace(parts[0], event=whole, sampler_distance=sampler_distance(parts), reason=reason)]


def event_bound(event: dp_event.DpEvent, delta: float, relation: Relation, distance: float = 0.0) -> PrivacyValue:
    """The smallest proved epsilon of an event under `relation`: infinite, with status and reason, where there is none.

    The accountants read the same mechanisms, in which the sensitivity under `relation` is already settled, so they
    bound the same pair of outputs and the smallest is a bound (also under REPLACE_ONE). `distance` is the total variation
    distance of what is really drawn from the event.
    """
    check_delta(delta)
    unproved = first_unproved_leaf(event)
    if unproved is not None:
        return _infinite(delta, relation, unproved.reason, unproved.status)
    try:
        composition = mechanisms(event, relation)
    except RefusedError as error:
        return _infinite(delta, relation, str(error))
    unbounded = [mechanism for mechanism in composition if getattr(mechanism, "reason", "")]
    if unbounded:
        return _infinite(delta, relation, unbounded[0].reason)  # pyright: ignore[reportAttributeAccessIssue]
    return composition_bound(composition, delta, relation, distance)


def composition_bound(composition: Composition, delta: float, relation: Relation, distance: float = 0.0) -> PrivacyValue:
    """The smallest proved value of mechanisms already read under `relation`, drawn within `distance` of their exact law."""
    if not composition and distance == 0.0:
        return PrivacyValue(epsilon=0.0, delta=delta, status="proved", neighboring_relation=relation, reason=NOTHING)
    values = composition_values(composition, delta, distance)
    proved = {name: value for name, value in values.items() if isinstance(value, float) and ACCOUNTANTS[name].proves(composition)}
    if not proved:
        provers = [value for name, value in values.items() if ACCOUNTANTS[name].status == "proved"]
        reasons = dict.fromkeys(value["refused"] for value in provers if isinstance(value, dict))
        return _infinite(delta, relation, " ".join(reasons))
    best = min(proved, key=lambda name: proved[name])
    ground = ACCOUNTANTS[best].named_ground(composition, delta)
    return PrivacyValue(epsilon=proved[best], delta=delta, status="proved", accountant=ground, neighboring_relation=relation)


def epsilon_poisson_gaussian(noise_multiplier: float, sample_rate: float, steps: int, delta: float) -> dict[str, Any]:
    """Epsilon of DP-SGD under add/remove by every accountant of ACCOUNTANTS, and `bound`, the smallest proved one.

    Values are floats, `{"refused": reason}` where an accountant has none.
    """
    step = dp_event.PoissonSampledDpEvent(sample_rate, dp_event.GaussianDpEvent(noise_multiplier))
    stages = [Stage("DP-SGD", step, "per_step", steps, ("ADD_OR_REMOVE_ONE",), "Poisson")]
    return {**accountant_values(stages, delta), "bound": proved_bound(stages, delta).epsilon}


def _value_or_refusal(accountant: Accountant, composition: Composition, delta: float, distance: float) -> float | Refusal:
    try:
        return float(sampler_epsilon(lambda left: accountant.epsilon(composition, left), delta, distance))
    except RefusedError as error:
        return {"refused": str(error)}


def first_unproved_leaf(event: dp_event.DpEvent) -> own.UnprovedDpEvent | None:
    """The first refuted leaf, else the first that is not proved."""
    unproved = [leaf for leaf, _ in leaves(event) if isinstance(leaf, own.UnprovedDpEvent)]
    return next((leaf for leaf in unproved if leaf.status == "refuted"), unproved[0] if unproved else None)


def _is_finite(stage: Stage, relation: Relation) -> bool:
    try:
        return all(not getattr(mechanism, "reason", "") for mechanism in mechanisms(stage.total(), relation))
    except RefusedError:
        return False


def _infinite(delta: float, relation: Relation, reason: str, status: Status = "not_proved") -> PrivacyValue:
    return PrivacyValue(epsilon=math.inf, delta=delta, status=status, neighboring_relation=relation, reason=reason)
