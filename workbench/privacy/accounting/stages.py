"""A method's releases in order, each an inert event that accountants interpret before any data is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from dp_accounting import dp_event

    from workbench.privacy.accounting.events import Distances

Relation = Literal["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "REPLACE_SPECIAL"]


@dataclass(frozen=True)
class Stage:
    """One release: what one step costs, how often it is spent, and under which assumptions.

    `event` is the event of ONE step (None if free); a `per_step` stage spends it `steps` times, a `once` stage spends it at once before
    its first touch of the data, a `free` stage touches public data or released values only.
    `relations` names the neighboring relations (members of `dp_accounting.NeighboringRelation`) under which the event
    holds as written; where several hold for a whole composition, the first that its first stage names is reported. With n public, fixed and
    checked, what a run satisfies is REPLACE_SPECIAL, so that comes first: with one record less a run would refuse to start.
    `sampler_distance` is the total variation distance between the noise that is really drawn and the exact law of `event`, for
    whatever data, summed over all `steps` (which share it evenly); accountants add its price to delta.
    `rows` is how many records, with the draws of each, a step passes through what it computes: its time grows with them, its price does
    not. Without it a paid stage looks at all records, a free one at none.
    """

    name: str
    event: dp_event.DpEvent | None
    spent: Literal["once", "per_step", "free"]
    steps: int = 1
    relations: tuple[Relation, ...] = ("REPLACE_SPECIAL", "ADD_OR_REMOVE_ONE")
    sampling: str = ""
    reason: str = ""
    sampler_distance: float = 0.0
    rows: float | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.event is None) != (self.spent == "free"):
            expected = "no event" if self.spent == "free" else "an event"
            raise WorkbenchError(f"Expected {expected} of {self.name}, which is spent {self.spent!r}, got {self.event!r}.")

    def rows_of(self, num_records: int) -> float:
        """`rows`, or what stands for it where there are so many records."""
        return self.rows if self.rows is not None else float(num_records) if self.spent != "free" else 1.0

    @property
    def distances(self) -> Distances | None:
        """How far one step's output moves, in deviations of its noise, when one record is replaced or made null; None if unknown.

        Read off the event, which states both; the harness of mechanisms measures the same two by changing single records.
        """
        from workbench.privacy.accounting.events import distances

        return None if self.event is None else distances(self.event)

    def total(self, steps: int | None = None) -> dp_event.DpEvent:
        """The event of the first `steps` steps (all of them by default)."""
        from dp_accounting import dp_event

        count = self.steps if steps is None else steps
        if self.event is None or count == 0:
            return dp_event.NoOpDpEvent()
        return self.event if count == 1 else dp_event.SelfComposedDpEvent(self.event, count)


def quiet_stage(name: str, steps: int, reason: str, rows: float | None = None) -> Stage:
    """A stage whose steps touch records and release nothing: it is spent step by step, and costs nothing under any relation.

    What it writes is named in the method's `quiet_parts`: no other part of the state may depend on these but through a release that
    another stage pays for. `reason` says which. The harness of mechanisms runs the fit again on other records, with all releases as
    they were, and nothing but the quiet parts may differ.
    """
    from dp_accounting import dp_event

    every: tuple[Relation, ...] = ("REPLACE_SPECIAL", "REPLACE_ONE", "ADD_OR_REMOVE_ONE")
    return Stage(name, dp_event.NoOpDpEvent(), "per_step", steps, relations=every, reason=reason, rows=rows)


CARRIED_OUT = ("spent", "steps", "event", "relations", "sampler_distance")  # of a stage; `sampling` and `reason` are words for people


def difference(ones: Sequence[Stage], others: Sequence[Stage]) -> str:
    """The first thing in which two lists of releases are not the same ones, in words; empty if there is none.

    Neither words for people nor which of its relations a stage names first make another release.
    """
    names, other_names = ([stage.name for stage in stages] for stages in (ones, others))
    if names != other_names:
        return f"{', '.join(names) or 'no stage'} against {', '.join(other_names) or 'no stage'}"
    for one, other in zip(ones, others, strict=True):
        for name in CARRIED_OUT:
            if _unordered(getattr(one, name)) != _unordered(getattr(other, name)):
                return f"{name} of {one.name}: {getattr(one, name)} against {getattr(other, name)}"
    return ""


def _unordered(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def compose(stages: Sequence[Stage]) -> dp_event.DpEvent:
    """The event of all stages together, each at its full number of steps; free stages are left out."""
    from dp_accounting import dp_event

    paid = [stage.total() for stage in stages if stage.spent != "free"]
    if not paid:
        return dp_event.NoOpDpEvent()
    return paid[0] if len(paid) == 1 else dp_event.ComposedDpEvent(paid)
