"""Whom a release protects: a row, or a person with at most k rows, and what releases of both protect together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.privacy.accounting.events import PersonDpEvent
from workbench.privacy.accounting.stages import Stage


def of_persons(stages: Iterable[Stage], most_rows: int, person: str) -> list[Stage]:
    """The stages as they protect a person of the column `person` with at most `most_rows` rows; free ones as they are.

    `docs/proofs.md` says why: relations hold with a person's rows in the place of one.
    """
    words = f"Of a person ({person}), by at most {most_rows} row{'s' * (most_rows != 1)} of each."
    return [
        stage
        if stage.event is None
        else replace(stage, event=PersonDpEvent(stage.event, most_rows, person), reason=f"{stage.reason} {words}".strip())
        for stage in stages
    ]


def protects_person(stage: Stage) -> bool:
    """Whether a stage says what it costs a person."""
    return isinstance(stage.event, PersonDpEvent)


def person_of(stages: Iterable[Stage]) -> str:
    """The column that names whom all paid stages protect, empty for a row: where one protects a row, or another person, it is a row."""
    columns = {stage.event.person if isinstance(stage.event, PersonDpEvent) else "" for stage in stages if stage.event is not None}
    return columns.pop() if len(columns) == 1 else ""
