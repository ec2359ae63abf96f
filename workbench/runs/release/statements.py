"""What stands on a card beside what follows from the plan: spending, place in the ledger and audit, held against each other."""

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from workbench.datasets import records_of
from workbench.plan import ROUNDING, Plan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.totals import FIXED_IN_ADVANCE
from workbench.runs.audits import RELATION
from workbench.runs.release.card import LedgerPlace, PrivacyCard

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
CLOSE = 1e-6  # relative, between one epsilon computed here and on another machine
SPOKEN = ("name", "spent", "event", "sampling", "reason")  # of a stage, what says which one it is


def wrong_spending(card: PrivacyCard, plan: Plan, has_samples: bool) -> str:
    """What is wrong with what was spent: it is all that the plan releases, and what drawing samples spends; nothing else is on a card."""
    drawn = {stage.name for stage in card.spent}
    missing = [stage.name for stage in plan.sampled if has_samples and stage.name not in drawn]
    if missing:
        return f"{missing[0]} is what drawing samples spends, and there are samples; the card says nothing of it."
    for planned in plan.releases:
        steps = sum(stage.steps for stage in card.spent if _is_step_of(stage, planned))
        if planned.spent != "free" and steps < planned.steps:
            return f"{planned.name} is planned with {planned.steps} steps, and {steps} of them are on the card."
    sampling = {stage.name for stage in plan.sampled}
    for stage in card.spent:
        if not any(_is_step_of(stage, planned) for planned in plan.releases) and stage.name not in sampling:
            return f"{stage.name} is on the card, and is no release of the plan or of drawing samples."
    return ""


def wrong_bound(card: PrivacyCard, plan: Plan, bound: PrivacyValue) -> str:
    """How the card's bound differs from `bound`, that of what was spent; neither may be below that of the plan."""
    from workbench.privacy import proved_bound

    if wrong := difference_words("bound", card.bound, bound):
        return wrong
    planned = proved_bound(plan.stages, plan.delta)
    if is_below(card.bound.epsilon, planned.epsilon):
        return f"The bound is epsilon {card.bound.epsilon:.6g}, below the {planned.epsilon:.6g} of what the plan releases."
    return ""


def wrong_place(card: PrivacyCard, plan: Plan) -> str:
    """What is wrong with the place in the ledger: a total of all runs there, this one among them, is at least that of this one."""
    from workbench.privacy.spending.totals import zero_out_total

    place, total = card.ledger, card.ledger.total
    if wrong := _wrong_position(place, plan):
        return wrong
    own = zero_out_total([(f"run {card.run}", [stage.stage for stage in card.spent])], plan.delta)
    if place.runs == 1:
        return difference_words("total in the ledger", total, own)
    if is_below(total.epsilon, own.epsilon):
        return f"The total in the ledger is epsilon {total.epsilon:.6g}, below the {own.epsilon:.6g} of this run alone."
    proved = total.status == "proved" and total.reason.endswith(FIXED_IN_ADVANCE)
    none = total.status in ("not_proved", "refuted") and not total.is_finite
    if not (proved if total.is_finite else none) or (total.delta, total.neighboring_relation) != (own.delta, own.neighboring_relation):
        return "The total in the ledger is told otherwise than a ledger tells it."
    return ""


def _wrong_position(place: LedgerPlace, plan: Plan) -> str:
    if place.account != (account := records_of(plan.facts.name)):
        return f"The place in the ledger is on {place.account!r}, and the plan's records are on {account!r}."
    if not 1 <= place.position <= place.runs:
        return f"The place in the ledger is number {place.position} of {place.runs}."
    try:
        opened, closed = (day_of(place.opened), day_of(place.opened if place.closed is None else place.closed))
    except ValueError:
        return f"Expected days in the place in the ledger, got {place.opened!r} and {place.closed!r}."
    return f"The ledger's account was closed on {place.closed}, before it was opened on {place.opened}." if closed < opened else ""


def day_of(text: str) -> date:
    """The day of a text such as 2026-05-31, and a ValueError for any other: a time of day would tell how long the batches took."""
    if not DAY.fullmatch(text):
        raise ValueError(f"expected a day, got {text!r}")
    return date.fromisoformat(text)


def wrong_audit(card: PrivacyCard, plan: Plan) -> str:
    """What is wrong with a measured lower bound: it is told as one, at the plan's delta, and lies below the bound."""
    audit = card.audit
    if audit is None:
        return ""
    statement = (audit.status, audit.delta, audit.neighboring_relation, audit.accountant, audit.sampling)
    named = audit.source.startswith("audit of run ") and audit.reason
    if statement != ("measured", plan.delta, RELATION, "", "") or not 0.0 <= audit.epsilon < math.inf or not named:
        return "The audit is told otherwise than an audit tells a lower bound."
    if audit.epsilon > card.bound.epsilon:
        return f"An audit measured {audit.epsilon:.4g}, above its bound of {card.bound.epsilon:.4g}."
    return ""


def difference_words(what: str, shown: Any, actual: Any) -> str:
    """How a value shown differs from the one computed here: numbers by more than machines do, all else at all; "" if it does not."""
    if isinstance(shown, PrivacyValue) and isinstance(actual, PrivacyValue):
        if alike(shown.model_dump(), actual.model_dump()):
            return ""
        named = [name for name in PrivacyValue.model_fields if not alike(getattr(shown, name), getattr(actual, name))]
        if named == ["epsilon"] or "status" in named:
            said = f"the file says {shown.epsilon:.6g} ({shown.status})"
            return f"The {what} is epsilon {actual.epsilon:.6g} ({actual.status}) by what was spent; {said}."
        return f"The {what} has another {', '.join(named)} than was computed here."
    return "" if alike(shown, actual) else f"The {what} is not what follows from plan and spending."


def alike(one: Any, other: Any) -> bool:
    """Whether plain values are the same, but for rounding of what was computed on another machine."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= max(ROUNDING, CLOSE * abs(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return type(one) is type(other) and one == other


def is_below(epsilon: float, other: float) -> bool:
    """Whether an epsilon is less than another, by more than machines differ; NaN is below everything."""
    return not epsilon >= other * (1 - CLOSE) - ROUNDING


def _is_step_of(spent: PlannedStage, planned: PlannedStage) -> bool:
    """Whether what was spent is steps of a planned stage, in its words and with no less said of its sampler."""
    share = spent.steps / max(1, planned.steps)
    same = all(getattr(spent, name) == getattr(planned, name) for name in SPOKEN) and spent.relations == planned.relations
    return same and spent.sampler_distance >= planned.sampler_distance * share * (1 - ROUNDING)
