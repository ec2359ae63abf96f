"""What runs spent, as inert values, and their composed total under the zero-out relation."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import WorkbenchError
from workbench.privacy.accounting.values import PrivacyValue, Status

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Relation, Stage

FIXED_IN_ADVANCE = (
    "All runs are composed as if their settings were fixed in advance; settings chosen after earlier results are not covered."
)


ROWS_TOGETHER = (
    "What it protects is a row and no person: some of these runs protect a person with all rows that are kept, others a row or another "
    "person."
)


@dataclass(frozen=True)
class StageSpending:
    """One stage of a run: `steps` planned, the first `charged` of them spent, and `charged_again` spent once more."""

    stage: str
    spent: Literal["once", "per_step", "free"]
    steps: int
    charged: int
    charged_again: int
    event: dict[str, Any]  # JSON form of the event of one step
    relations: "tuple[Relation, ...]"
    sampling: str
    reason: str
    sampler_distance: float = 0.0  # over all planned steps

    @property
    def count(self) -> int:
        """How often the event has been spent."""
        return self.charged + self.charged_again

    @property
    def reserved(self) -> int:
        """How often the event may have been spent when the run is over."""
        return max(self.steps, self.charged) + self.charged_again

    def as_stage(self, count: int) -> "Stage":
        """The stage again, at `count` steps."""
        from workbench.privacy.accounting.events import event_from_json
        from workbench.privacy.accounting.stages import Stage

        event = None if self.spent == "free" else event_from_json(self.event)
        distance = self.sampler_distance * count / max(1, self.steps)
        return Stage(self.stage, event, self.spent, count, self.relations, self.sampling, self.reason, distance)


@dataclass(frozen=True)
class LedgerEntry:
    """One run as the ledger knows it; times are ISO 8601 in UTC, `closed_at` is None while it may still spend, `account` is a name.

    `public` names the images that it took to be public, files of one's own with a digest of what was in them. One that is `unread` has
    journals that cannot be read now: all that they may hold of its plan counts. One that `ended_early` kept its model before its last step:
    what is proved of it counts all that was planned, as nobody knows why it ended, and a filter counts what it took.
    """

    run_id: str
    fingerprint: str
    dataset: str
    method: str
    purpose: str
    delta: float
    opened_at: str
    closed_at: str | None
    account: str
    stages: tuple[StageSpending, ...]
    public: str = ""
    unread: bool = False
    ended_early: bool = False

    def paid_stages(self, reserve: bool = False) -> "list[Stage]":
        """The stages that cost something, at what was spent; with `reserve`, at what an open run may yet spend."""
        return self._paid(whole=self.ended_early or (reserve and self.closed_at is None))

    def covered_stages(self) -> "list[Stage]":
        """The same at all that was planned, and what was drawn anew: what holds of a run whenever and why ever it ends."""
        return self._paid(whole=True)

    def taken_stages(self) -> "list[Stage]":
        """The same for a filter: an open run at what it may yet spend, one that ended early at the steps that it took."""
        return self._paid(whole=self.closed_at is None)

    def _paid(self, whole: bool) -> "list[Stage]":
        counts = [(stage, stage.reserved if whole else stage.count) for stage in self.stages if stage.spent != "free"]
        return [stage.as_stage(count) for stage, count in counts if count > 0]


def entry_from(values: dict[str, Any]) -> LedgerEntry:
    """An entry of the ledger from its JSON."""
    try:
        stages = tuple(StageSpending(**stage | {"relations": tuple(stage["relations"])}) for stage in values["stages"])
        fields: dict[str, Any] = values | {"stages": stages}
        return LedgerEntry(**fields)
    except (TypeError, KeyError) as error:
        raise WorkbenchError(f"Expected what a run has spent, got an entry that is not whole ({error}).") from None


def labelled_epsilon(value: PrivacyValue, entries: "Sequence[LedgerEntry]") -> PrivacyValue:
    """The epsilon of runs, called no bound where one is unread: what was drawn anew and stands there alone is not in it."""
    unread = ", ".join(entry.run_id for entry in entries if entry.unread)
    if not unread:
        return value
    why = f"Journals of {unread} cannot be read now: all that was planned counts, and what was drawn anew once they can be."
    status: Status = "approximation" if value.status == "proved" else value.status
    return value.model_copy(update={"status": status, "reason": f"{value.reason} {why}".lstrip()})


@dataclass(frozen=True)
class Budget:
    """What all runs on one dataset together may spend, under the zero-out relation."""

    epsilon: float
    delta: float


def bound_of(stages: "Sequence[Stage]", delta: float) -> PrivacyValue:
    """The proved bound of `stages`, and a proved zero where nothing was spent."""
    from workbench.privacy.accounting.bounds import proved_bound

    if not stages:
        return PrivacyValue(epsilon=0.0, delta=delta, status="proved", reason="No private record has been touched.")
    return proved_bound(list(stages), delta)


def zero_out_total(runs: "Sequence[tuple[str, Sequence[Stage]]]", delta: float) -> PrivacyValue:
    """The composed REPLACE_SPECIAL bound of the stages of several named runs.

    Equal events of different runs are composed as one. Where a stage has no zero-out form, or no finite bound in it, the total
    is infinite and the reason names run and stage.
    """
    from workbench.privacy.accounting.events import event_to_json

    merged: dict[str, Stage] = {}
    for run, stages in runs:
        for stage in stages:
            one = zero_out_stage(stage)
            if one is None:
                return _infinite(run, stage, bound_of([stage], delta))
            key = json.dumps(event_to_json(one.event), sort_keys=True)
            merged[key] = _joined_stage(merged[key], one) if key in merged else one
    total = bound_of(list(merged.values()), delta)
    if not total.is_finite:
        return _name_the_infinite(runs, total)
    words = [total.reason, protected_words(runs), *[FIXED_IN_ADVANCE] * (len(runs) > 1)]
    reason = " ".join(filter(None, words))
    return total.model_copy(update={"neighboring_relation": "REPLACE_SPECIAL", "reason": reason})


def protected_words(runs: "Sequence[tuple[str, Sequence[Stage]]]") -> str:
    """Whom runs protect together, in words, where one of them protects a person: a person only where it is the same for all."""
    from workbench.privacy.accounting.persons import person_of, protects_person

    stages = [stage for _, stages in runs for stage in stages]
    if not any(map(protects_person, stages)):
        return ""
    person = person_of(stages)
    return f"What it protects is a person ({person})." if person else ROWS_TOGETHER


def why_unlike(total: PrivacyValue, alone: "Mapping[str, PrivacyValue]") -> str:
    """Why a total may be less than what a run has `alone`, by run: another relation, or another delta; empty where both agree."""
    lines = []
    for run, value in alone.items():
        relation, delta = value.neighboring_relation != total.neighboring_relation, value.delta != total.delta
        if value.epsilon and (relation or delta):
            under = f" under {plain(value.neighboring_relation)}" if relation else ""
            lines.append(f"run {run} alone is epsilon {value.epsilon:.4g} at delta {value.delta:.3g}{under}")
    if not lines:
        return ""
    here = f"This total holds at delta {total.delta:.3g} under {plain(total.neighboring_relation)} (one record becomes a null record)"
    return f"{here}; {'; '.join(lines)}. These are different promises, so that the total may be the smaller number."


def plain(relation: str) -> str:
    """A relation as words: REPLACE_ONE is `replace one`."""
    return relation.lower().replace("_", " ")


def zero_out_stage(stage: "Stage") -> "Stage | None":
    """The stage in its event's zero-out form, or as it stands where it says that it holds there; None where neither is known."""
    from workbench.privacy.accounting.zero_out import zero_out

    event = None if stage.event is None else zero_out(stage.event)
    if event is None and "REPLACE_SPECIAL" in stage.relations:
        event = stage.event
    return None if event is None else replace(stage, event=event, relations=("REPLACE_SPECIAL",))


def _joined_stage(first: "Stage", second: "Stage") -> "Stage":
    distance = first.sampler_distance + second.sampler_distance
    return replace(first, steps=first.steps + second.steps, sampler_distance=distance)


def _name_the_infinite(runs: "Sequence[tuple[str, Sequence[Stage]]]", total: PrivacyValue) -> PrivacyValue:
    for run, stages in runs:
        for stage in stages:
            alone = zero_out_stage(stage)
            value = bound_of([alone or stage], total.delta)
            if not value.is_finite:
                return _infinite(run, stage, value)
    return total.model_copy(update={"neighboring_relation": "REPLACE_SPECIAL"})


def _infinite(run: str, stage: "Stage", value: PrivacyValue) -> PrivacyValue:
    """Infinity that names run and stage, with the status and reason of the stage's own infinite `value` if it is one."""
    status: Status = "not_proved" if value.is_finite else value.status
    why = "No zero-out form of its event is known." if value.is_finite else value.reason
    reason = f"Stage {stage.name!r} of {run} has no finite epsilon under the zero-out relation. {why}".strip()
    return PrivacyValue(epsilon=math.inf, delta=value.delta, status=status, neighboring_relation="REPLACE_SPECIAL", reason=reason)
